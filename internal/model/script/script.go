// Package script implements the scripted model, which plays a JSON Lines file
// (docs/reference/script.md) for tests, demos and bug reports.
//
// A Server plays a Script. The server offers the APIs of OpenAI, Anthropic and Google on a loopback
// port, so that calls use the real code, including the HTTP client. The script is never part of a
// request to a real model. Start at Load.
package script

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/clip"
)

// maxLine bounds one line of a script.
const maxLine = 32 << 20

// Script is a loaded script with its cursor. It is safe for concurrent use. Replies are played in
// the order of the calls.
type Script struct {
	// Lenient accepts requests that strict providers refuse, such as requests with unpaired calls,
	// a wrong role order or a size above Window. Set it before the script is played, or in the file
	// with a first line {"strict":false}.
	Lenient bool
	// Window is the context size in tokens of four bytes each. 0 means unlimited. In the file, a
	// first line {"window":n} sets it.
	Window int

	mu    sync.Mutex
	steps []step
	next  int // the first unplayed step without a "when"
}

// step is one line.
type step struct {
	line      int
	played    bool
	When      *expect         `json:"when"`
	Expect    *expect         `json:"expect"`
	Reasoning string          `json:"reasoning"`
	Text      string          `json:"text"`
	Repeat    int             `json:"repeat"` // number of times that the text is sent; 0 means once
	ToolCalls []call          `json:"toolCalls"`
	Chunks    int             `json:"chunks"`
	DelayMs   int             `json:"delayMs"`
	Error     *failure        `json:"error"`
	Drop      drop            `json:"drop"`
	Stall     bool            `json:"stall"`
	Raw       *raw            `json:"raw"`
	Usage     json.RawMessage `json:"usage"`
	// Finish is the finish reason. "" means tool_calls if the step has tool calls, otherwise stop.
	Finish string `json:"finish"`

	// Only a first line that is not a reply may contain these fields.
	Strict *bool `json:"strict"`
	Window *int  `json:"window"`
}

type expect struct {
	LastUser string `json:"lastUser"`
	LastTool string `json:"lastTool"`
	// Tools is matched against the names of the offered tools, each followed by a space.
	Tools string `json:"tools"`
	// Sent is matched against all text that was sent: system prompt and messages.
	Sent    string `json:"sent"`
	NotSent string `json:"notSent"` // a pattern that must not match that text
	Request string `json:"request"` // matched against the path and the JSON of the request

	user, tool, tools, sent, notSent, request *regexp.Regexp
}

// drop reports whether the connection breaks after the step's text was sent.
type drop int

const (
	dropPlain drop = iota + 1
	dropRune       // drop the connection inside a multi-byte character
)

// UnmarshalJSON reads true, false or "rune".
func (d *drop) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*d = dropPlain
	case `"rune"`:
		*d = dropRune
	case "false", "null":
		*d = 0
	default:
		return fmt.Errorf(`drop is %s; it must be true or "rune"`, b)
	}
	return nil
}

// raw is an answer that is not a reply, for example a proxy's page or a login form.
type raw struct {
	Status int    `json:"status"` // HTTP status; 0 means 200
	Type   string `json:"type"`   // content type
	Body   string `json:"body"`
}

type call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is an object, or a string that is sent unchanged, even if it is invalid.
	Arguments json.RawMessage `json:"arguments"`

	args string // the arguments as they are sent
}

// failure is an error that the script plays.
type failure struct {
	Status     int         `json:"status"`
	Code       string      `json:"code"`
	Message    string      `json:"message"`
	RetryAfter json.Number `json:"retryAfter"` // in seconds
}

// Load parses a script. Its error names the line.
func Load(r io.Reader) (*Script, error) {
	s := &Script{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(in.Bytes(), []byte("\xef\xbb\xbf")))
		if len(line) == 0 || bytes.HasPrefix(line, []byte("//")) {
			continue
		}
		if err := s.add(n, line); err != nil {
			return nil, fmt.Errorf("reading the script, line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("reading the script, line %d: %w", len(s.steps)+1, err)
	}
	return s, nil
}

func (s *Script) add(n int, line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	st := step{line: n}
	if err := d.Decode(&st); err != nil {
		return fmt.Errorf("%w: a line is one JSON object with the keys when, expect, reasoning, text, repeat, toolCalls, chunks, delayMs, error, drop, stall, raw, usage, finish", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON object; write one reply per line")
	}
	if st.Strict != nil || st.Window != nil {
		return s.settings(&st)
	}
	if err := st.check(); err != nil {
		return err
	}
	s.steps = append(s.steps, st)
	return nil
}

func (s *Script) settings(st *step) error {
	if len(s.steps) > 0 {
		return errors.New("strict and window belong on the first line, without a reply")
	}
	if st.Strict != nil {
		s.Lenient = !*st.Strict
	}
	if st.Window != nil {
		s.Window = *st.Window
	}
	return nil
}

func (st *step) check() (err error) {
	if err := errors.Join(st.When.compile("when"), st.Expect.compile("expect")); err != nil {
		return err
	}
	for i := range st.ToolCalls {
		c := &st.ToolCalls[i]
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", st.line, i+1)
		}
		if len(c.Arguments) == 0 {
			c.Arguments = json.RawMessage("{}")
		}
		if json.Unmarshal(c.Arguments, &c.args) != nil {
			c.args = string(c.Arguments)
		}
	}
	if st.Chunks < 0 || st.DelayMs < 0 || st.Repeat < 0 || st.Repeat*len(st.Text) > maxLine {
		return fmt.Errorf("chunks, delayMs and repeat must not be negative, and repeat must not make a text of more than %d bytes", maxLine)
	}
	if st.Repeat > 0 {
		st.Text = strings.Repeat(st.Text, st.Repeat)
	}
	if e := st.Error; e != nil && e.Status != 0 && (e.Status < 200 || e.Status > 599) {
		return fmt.Errorf("error.status is %d; it must be an HTTP status from 400 to 599", e.Status)
	}
	return nil
}

// compile compiles the patterns. A nil expect does nothing.
func (e *expect) compile(name string) (err error) {
	if e == nil {
		return nil
	}
	for _, p := range []struct {
		key, pattern string
		into         **regexp.Regexp
	}{
		{"lastUser", e.LastUser, &e.user}, {"lastTool", e.LastTool, &e.tool},
		{"tools", e.Tools, &e.tools},
		{"sent", e.Sent, &e.sent}, {"notSent", e.NotSent, &e.notSent},
		{"request", e.Request, &e.request},
	} {
		if *p.into, err = compile(name+"."+p.key, p.pattern); err != nil {
			return err
		}
	}
	return nil
}

func compile(name, pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return re, nil
}

// mismatch is an error in the script itself, such as an unmet expectation. Clients receive it with
// the code "script".
type mismatch struct{ text string }

func (e *mismatch) Error() string { return e.text }

// take returns the next reply if it fits the request, and marks it as played. The next reply is the
// first step with a matching "when" or, if there is none, the next step without a "when".
func (s *Script) take(v *view) (*step, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.steps {
		st := &s.steps[i]
		if st.When != nil && !st.played && st.fits(st.When, v) == nil {
			return st, st.play(v)
		}
	}
	for s.next < len(s.steps) && (s.steps[s.next].played || s.steps[s.next].When != nil) {
		s.next++
	}
	if s.next >= len(s.steps) {
		return nil, &mismatch{fmt.Sprintf("the script has only %d replies, but the model was called again", len(s.steps))}
	}
	return &s.steps[s.next], s.steps[s.next].play(v)
}

// play marks a step as played if the request meets its "expect". The caller must hold the script's
// mu.
func (st *step) play(v *view) error {
	if err := st.fits(st.Expect, v); err != nil {
		return err
	}
	st.played = true
	return nil
}

func (st *step) fits(e *expect, v *view) error {
	if e == nil {
		return nil
	}
	if e.user != nil && !e.user.MatchString(v.lastUser) {
		return &mismatch{fmt.Sprintf("script line %d expects the last user message to match %q, but it is %q", st.line, e.LastUser, clip.Bytes(v.lastUser, maxShown))}
	}
	if e.tool != nil && !e.tool.MatchString(v.lastTool) {
		return &mismatch{fmt.Sprintf("script line %d expects the last tool result to match %q, but it is %q", st.line, e.LastTool, clip.Bytes(v.lastTool, maxShown))}
	}
	if e.tools != nil && !e.tools.MatchString(v.tools) {
		return &mismatch{fmt.Sprintf("script line %d expects the tools to match %q, but they are %q", st.line, e.Tools, clip.Bytes(v.tools, maxShown))}
	}
	if e.sent != nil && !e.sent.MatchString(v.sent()) {
		return &mismatch{fmt.Sprintf("script line %d expects the sent text to match %q, but it does not", st.line, e.Sent)}
	}
	if e.request != nil && !e.request.MatchString(v.text()) {
		return &mismatch{fmt.Sprintf("script line %d expects the request to match %q, but it does not", st.line, e.Request)}
	}
	if e.notSent != nil {
		if at := e.notSent.FindString(v.sent()); at != "" {
			return &mismatch{fmt.Sprintf("script line %d expects no sent text to match %q, but %q does", st.line, e.NotSent, clip.Bytes(at, maxShown))}
		}
	}
	return nil
}

// maxShown limits the number of bytes of a request that an error shows.
const maxShown = 300

// pieces splits text into at most n pieces at rune boundaries. Empty text has no pieces.
func pieces(text string, n int) []string {
	if text == "" {
		return nil
	}
	n = max(min(n, utf8.RuneCountInString(text)), 1)
	list := make([]string, 0, n)
	for ; n > 1; n-- {
		at := len(text) / n
		for at < len(text) && (at == 0 || !utf8.RuneStart(text[at])) {
			at++
		}
		if at == len(text) {
			break
		}
		list, text = append(list, text[:at]), text[at:]
	}
	return append(list, text)
}
