package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// MaxImport limits the input of Import, in bytes.
const MaxImport = 64 << 20

// ErrForeign reports that the input is not a session in a format that Import supports.
var ErrForeign = errors.New("not a session: expected the JSON of an export, a session's .jsonl file, or a list of chat messages {role, content} in the format of model APIs")

// Import creates a session from text: an export, a session's file, or a list of chat messages from
// another program. It imports the conversation and its title, but not the working directory or the
// settings, which include rules and instructions. Unpaired calls get results. The problems report
// what was omitted.
func (l *Library) Import(text []byte) (*Session, []Problem, error) {
	if len(text) > MaxImport {
		return nil, nil, fmt.Errorf("importing a session: it has %d bytes; the limit is %d",
			len(text), MaxImport)
	}
	meta, c, problems, err := l.parseImport(bytes.TrimPrefix(text, []byte("\uFEFF")))
	if err != nil {
		return nil, nil, fmt.Errorf("importing a session: %w", err)
	}
	c.config = nil
	r := l.newReader("import", 0)
	r.out.Problems = problems
	c.messages = r.pair(r.valid(c.messages))
	if len(c.items) == 0 {
		c.items = shownBy(c.messages)
	}
	title := string(l.redact([]byte(ShortTitle(meta.Title))))
	s, err := l.write(Meta{Title: title, Cwd: l.opts.Cwd}, c)
	return s, r.out.Problems, err
}

func (l *Library) parseImport(text []byte) (Meta, content, []Problem, error) {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if _, ok := headerOf(first); ok {
		return l.parseLog(text)
	}
	var doc exported
	if decode(text, &doc) == nil && doc.Format == exportFormat {
		if doc.Version > Version {
			return Meta{}, content{}, nil, ErrNewer
		}
		c := content{config: doc.Config, messages: doc.Messages, commits: doc.Commits,
			pins: doc.Pins}
		known := all{}
		for _, m := range doc.Messages {
			if m != nil {
				known.add(m)
			}
		}
		for _, d := range doc.Items {
			c.items = append(c.items, d.item(known))
		}
		return Meta{Title: doc.Title, Cwd: doc.Cwd}, c, nil, nil
	}
	messages, problems, err := chatMessages(text)
	return Meta{}, content{messages: messages}, problems, err
}

// parseLog parses a session's own file.
func (l *Library) parseLog(text []byte) (Meta, content, []Problem, error) {
	r := l.newReader("import", int64(len(text)))
	if err := r.lines(text); err != nil {
		return Meta{}, content{}, nil, err
	}
	r.finish(text)
	c := content{config: r.out.Config, messages: r.out.Messages, commits: r.out.Commits,
		pins: r.out.Pins}
	in := &itemReader{file: bytes.NewReader(text), nodes: r.log.nodes}
	for _, ref := range r.log.visible() {
		if it, ok, err := in.item(ref); ok && err == nil {
			c.items = append(c.items, it)
		}
	}
	return r.log.entry.Meta, c, r.out.Problems, nil
}

// valid returns the messages that a history may contain, with unique IDs and with objects as the
// arguments of calls.
func (r *reader) valid(ms []*message.Message) []*message.Message {
	seen := map[string]bool{}
	var out []*message.Message
	for i, m := range ms {
		if m == nil || m.Role != message.RoleUser && m.Role != message.RoleAssistant &&
			m.Role != message.RoleTool {
			r.problem(0, 0, fmt.Sprintf("message %d does not have the role user, assistant or tool and is skipped", i+1))
			continue
		}
		for n := i; m.ID == "" || seen[m.ID]; n++ {
			m.ID = fmt.Sprintf("m%d", n+1)
		}
		seen[m.ID] = true
		if m.Time.IsZero() {
			m.Time = r.lib.now()
		}
		for _, call := range m.ToolCalls() {
			var object map[string]json.RawMessage
			if json.Unmarshal(call.Args, &object) != nil || object == nil {
				call.Raw, call.Problem, call.Args = string(call.Args),
					"the arguments were not an object", json.RawMessage(`{}`)
			}
		}
		out = append(out, m)
	}
	return out
}

// chatMessage is a message in the format of model APIs.
type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name"`
}

// chatMessages parses a list of chat messages, either at the top level or under "messages".
func chatMessages(text []byte) ([]*message.Message, []Problem, error) {
	var list []json.RawMessage
	if decode(text, &list) != nil {
		var doc struct {
			Messages []json.RawMessage `json:"messages"`
		}
		if decode(text, &doc) != nil {
			return nil, nil, ErrForeign
		}
		list = doc.Messages
	}
	var out []*message.Message
	var problems []Problem
	for i, raw := range list {
		var c chatMessage
		m, err := (*message.Message)(nil), decode(raw, &c)
		if err == nil {
			m, err = c.message()
		}
		if err != nil {
			problems = append(problems, Problem{Text: fmt.Sprintf("message %d is skipped: %s", i+1,
				brief(err))})
			continue
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, nil, ErrForeign
	}
	return out, problems, nil
}

func (c *chatMessage) message() (*message.Message, error) {
	text, err := textOf(c.Content)
	if err != nil {
		return nil, err
	}
	switch c.Role {
	case "user", "assistant", "tool":
	default:
		return nil, fmt.Errorf("its role is %q", c.Role)
	}
	m := &message.Message{Role: message.Role(c.Role), CallID: c.ToolCallID, Name: c.Name}
	if text != "" || len(c.ToolCalls) == 0 {
		m.Content = []message.Block{{Type: message.Text, Text: text}}
	}
	for _, call := range c.ToolCalls {
		args := call.Function.Arguments
		var quoted string
		if json.Unmarshal(args, &quoted) == nil {
			args = json.RawMessage(quoted)
		}
		m.Content = append(m.Content, message.Block{Type: message.ToolUse,
			Call: &message.ToolCall{ID: call.ID, Name: call.Function.Name, Args: args}})
	}
	return m, nil
}

// textOf returns the text of a message's content. The content is a string, null, or a list of
// parts. A part without text becomes a note such as "[image_url omitted]".
func textOf(raw json.RawMessage) (string, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", errors.New("its content is neither text nor a list of parts")
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Text == "" && p.Type != "text" {
			fmt.Fprintf(&b, "[%s omitted]", p.Type)
		}
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

var _ messages = recent(nil)
var _ messages = all(nil)
var _ messages = (*itemReader)(nil)
