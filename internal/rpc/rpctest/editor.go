package rpctest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Patience limits every wait of the fake editor. It is an upper bound for a busy machine. A passing
// test does not take that long. Script authors can set AGENT_LSP_TEST_PATIENCE to a shorter time.
var Patience = patience()

func patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("AGENT_LSP_TEST_PATIENCE")); err == nil {
		return d
	}
	return 5 * time.Minute
}

// Editor is a fake editor with one connection to a daemon. It is safe for concurrent use. It logs
// all messages from the daemon in order, except the responses to its probes.
type Editor struct {
	conn conn
	in   io.Closer

	mu        sync.Mutex
	changed   *sync.Cond
	log       []*Message
	answers   map[string]*Message
	calls     map[string]string // the editor's unanswered requests: method by ID
	pending   map[string]*Message
	ended     error // the error that ended reading
	nextID    int
	nextProbe int

	buffers  map[string]*Buffer
	auto     map[string]json.RawMessage
	once     map[string][]json.RawMessage
	behave   string // reaction to workspace/applyEdit; see Behave
	held     []func()
	activity activity
	utf8     bool
	grease   bool
}

// activity tracks the current work of the daemon. The editor's lock guards it.
type activity struct {
	turns  map[string]bool   // turns that have started but not completed
	queued bool              // whether the last session/updated listed queued prompts
	status map[string]string // status of each session, by ID
	// items in progress that do not wait for the client
	working map[string]bool
	probes  map[string]chan struct{} // probes that have been sent but not answered
}

// NewEditor returns an editor that reads the daemon's output from r and writes to its input w.
func NewEditor(r io.Reader, w io.WriteCloser) *Editor {
	e := &Editor{
		conn: conn{w: w}, in: w, answers: map[string]*Message{}, calls: map[string]string{},
		pending: map[string]*Message{},
		buffers: map[string]*Buffer{}, auto: map[string]json.RawMessage{},
		once: map[string][]json.RawMessage{},
		activity: activity{
			turns: map[string]bool{}, status: map[string]string{}, working: map[string]bool{},
			probes: map[string]chan struct{}{},
		},
		grease: true,
	}
	e.changed = sync.NewCond(&e.mu)
	go e.read(bufio.NewReader(r))
	return e
}

func (e *Editor) read(r *bufio.Reader) {
	for {
		body, err := readFrame(r)
		if err != nil {
			e.finish(err)
			return
		}
		m := new(Message)
		if err := json.Unmarshal(body, m); err != nil {
			e.finish(fmt.Errorf("the daemon sent invalid JSON: %w: %.200s", err, body))
			return
		}
		e.take(m)
	}
}

func (e *Editor) finish(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = err
	e.changed.Broadcast()
}

// take processes a message and, if a reaction to it is defined, answers it.
func (e *Editor) take(m *Message) {
	e.mu.Lock()
	if e.probed(m) {
		e.mu.Unlock()
		return
	}
	e.log = append(e.log, m)
	e.follow(m)
	e.followItem(m)
	var act func()
	switch {
	case m.isAnswer():
		e.answers[string(m.ID)] = m
		delete(e.calls, string(m.ID))
	case m.isRequest():
		e.pending[string(m.ID)] = m
		act = e.reaction(m)
	case m.Method == "$/cancelRequest":
		e.cancelled(m)
	}
	e.changed.Broadcast()
	e.mu.Unlock()
	if act != nil {
		act()
	}
}

// follow tracks the running turns.
func (e *Editor) follow(m *Message) {
	var p struct {
		TurnID string            `json:"turnId"`
		Queue  []json.RawMessage `json:"queue"`
	}
	switch {
	case m.isAnswer() && len(m.Result) > 0 && m.Result[0] == '{':
		if e.calls[string(m.ID)] == "agent/turn/wait" || json.Unmarshal(m.Result, &p) != nil ||
			p.TurnID == "" {
			return
		}
		if _, seen := e.activity.turns[p.TurnID]; !seen {
			e.activity.turns[p.TurnID] = true
		}
	case m.Method == "agent/turn/started" && json.Unmarshal(m.Params, &p) == nil:
		e.activity.turns[p.TurnID] = true
	case m.Method == "agent/turn/completed" && json.Unmarshal(m.Params, &p) == nil:
		e.activity.turns[p.TurnID] = false
	case m.Method == "agent/session/updated" && json.Unmarshal(m.Params, &p) == nil &&
		p.Queue != nil:
		e.activity.queued = len(p.Queue) > 0
	}
}

// quiet reports whether no turn is running or queued and no request is open, so that no more
// messages of a turn can arrive.
func (e *Editor) quiet() bool {
	for _, running := range e.activity.turns {
		if running {
			return false
		}
	}
	return len(e.calls) == 0 && !e.activity.queued
}

func (e *Editor) cancelled(m *Message) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(m.Params, &p) == nil {
		delete(e.pending, string(p.ID))
	}
}

// reaction returns a function that handles a server request, or nil if the test must answer it.
func (e *Editor) reaction(m *Message) func() {
	if q := e.once[m.Method]; len(q) > 0 {
		e.once[m.Method] = q[1:]
		return func() { _ = e.Reply(m, q[0]) }
	}
	if r, ok := e.auto[m.Method]; ok {
		return func() { _ = e.Reply(m, r) }
	}
	switch m.Method {
	case "workspace/applyEdit":
		return e.applyReaction(m)
	case "window/workDoneProgress/create", "client/registerCapability",
		"client/unregisterCapability",
		"workspace/codeLens/refresh", "workspace/textDocumentContent/refresh",
		"workspace/diagnostic/refresh":
		return func() { _ = e.Reply(m, json.RawMessage("null")) }
	case "workspace/configuration":
		return func() { _ = e.Reply(m, configurationAnswer(m)) }
	}
	return nil
}

func configurationAnswer(m *Message) json.RawMessage {
	var p struct {
		Items []json.RawMessage `json:"items"`
	}
	_ = json.Unmarshal(m.Params, &p)
	b, _ := json.Marshal(make([]any, len(p.Items)))
	return b
}

// Behave sets the reaction to workspace/applyEdit:
//
//   - "" applies the edit correctly
//   - "skip" reports success but does nothing
//   - "late" answers first and applies the edit afterwards
//   - "refuse" answers applied: false
//   - "other" applies the edit with an extra space at the end of the document
//   - "silent" neither answers nor applies
//   - "deaf" applies but never answers
//   - "null" applies and answers null
//   - "first" applies the edit only to the first document
//   - "hold" keeps the request until Release
func (e *Editor) Behave(how string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.behave = how
}

// Release applies the edits from the requests that "hold" kept, and answers them.
func (e *Editor) Release() {
	e.mu.Lock()
	held := e.held
	e.held = nil
	e.mu.Unlock()
	for _, f := range held {
		f()
	}
}

// Auto sends result as the answer to every server request with this method. The method Once answers
// only one request.
func (e *Editor) Auto(method string, result json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.auto[method] = result
}

// Once answers the next server request with that method, or one that is already waiting.
func (e *Editor) Once(method string, result json.RawMessage) {
	e.mu.Lock()
	for _, m := range e.log {
		if p, ok := e.pending[string(m.ID)]; ok && p == m && m.Method == method {
			e.mu.Unlock()
			_ = e.Reply(m, result)
			return
		}
	}
	e.once[method] = append(e.once[method], result)
	e.mu.Unlock()
}

// Reply answers a server request. Calling it twice for one request simulates a faulty client.
func (e *Editor) Reply(m *Message, result json.RawMessage) error {
	e.mu.Lock()
	delete(e.pending, string(m.ID))
	e.mu.Unlock()
	return e.conn.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": e.greased(result)})
}

// replyError answers a server request with an error.
func (e *Editor) replyError(m *Message, code int, text string) error {
	e.mu.Lock()
	delete(e.pending, string(m.ID))
	e.mu.Unlock()
	return e.conn.write(map[string]any{"jsonrpc": "2.0", "id": m.ID,
		"error": map[string]any{"code": code, "message": text}})
}

// Send sends a request without waiting for the response. It returns the request's ID.
func (e *Editor) Send(method string, params any) (string, error) {
	e.mu.Lock()
	e.nextID++
	id := strconv.Itoa(e.nextID)
	e.calls[id] = method
	e.mu.Unlock()
	return id, e.conn.write(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id),
		"method": method, "params": e.greased(params)})
}

// Notify sends a notification.
func (e *Editor) Notify(method string, params any) error {
	return e.conn.write(map[string]any{"jsonrpc": "2.0", "method": method,
		"params": e.greased(params)})
}

// Raw writes bytes unchanged.
func (e *Editor) Raw(b []byte) error { return e.conn.writeRaw(b) }

// greased adds an unknown field to params or to a result, so that each run tests that unknown
// fields are ignored.
func (e *Editor) greased(params any) any {
	if !e.grease || params == nil {
		return params
	}
	b, err := json.Marshal(params)
	if err != nil || len(b) < 2 || b[0] != '{' {
		return params
	}
	if string(b) == "{}" {
		return json.RawMessage(`{"xGrease":[1]}`)
	}
	return json.RawMessage(append([]byte(`{"xGrease":{"a":[null]},`), b[1:]...))
}

// sendGrease sends messages that no server knows: notifications, and a request that must be
// answered with the error -32601.
func (e *Editor) sendGrease() error {
	if err := e.Notify("$/grease", map[string]any{"a": 1}); err != nil {
		return err
	}
	if err := e.Notify("agent/grease", []any{nil}); err != nil {
		return err
	}
	err := e.Call("agent/greaseRequest", map[string]any{}, nil)
	var answer *RPCError
	if !errors.As(err, &answer) || answer.Code != -32601 {
		return fmt.Errorf("an unknown request was answered with %v, want -32601", err)
	}
	return nil
}

// behaving returns the current reaction to workspace/applyEdit.
func (e *Editor) behaving() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.behave
}

// Answer waits for the response to a request.
func (e *Editor) Answer(id string) (*Message, error) {
	var m *Message
	err := e.wait(func() bool { m = e.answers[id]; return m != nil }, nil)
	if err != nil {
		return nil, fmt.Errorf("waiting for the answer to request %s: %w", id, err)
	}
	return m, nil
}

// Call sends a request, waits for its result and decodes that into result, unless result is nil.
func (e *Editor) Call(method string, params, result any) error {
	id, err := e.Send(method, params)
	if err != nil {
		return err
	}
	m, err := e.Answer(id)
	if err != nil {
		return err
	}
	if m.Error != nil {
		return m.Error
	}
	if result == nil || len(m.Result) == 0 {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// Next waits for a message that has the given method and matches the pattern. The search starts at
// the given index of the log. Next returns the first such message and the index after it. It fails
// if the daemon ends or Patience expires. Unless patient is set, it also fails once the message can
// no longer arrive, because it belongs to a turn and no turn is running or every call waits for the
// client.
func (e *Editor) Next(from int, method, pattern string, patient bool) (*Message, int, error) {
	var found *Message
	at, last := from, ""
	scan := func() bool {
		for ; at < len(e.log); at++ {
			m := e.log[at]
			if m.Method != method {
				continue
			}
			if last = MatchJSON(pattern, m.Params); last == "" {
				found, at = m, at+1
				return true
			}
		}
		return false
	}
	hopeless := func() string {
		switch {
		case patient:
		case ofTurn(method) && e.quiet():
			return "it can no longer arrive: no turn is running"
		case (ofTurn(method) || strings.HasPrefix(method, "agent/proposal/")) && e.stalled():
			return "it can no longer arrive: every call of the turn is waiting for the client"
		}
		return ""
	}
	if err := e.wait(scan, hopeless); err != nil {
		return nil, from, fmt.Errorf("waiting for %s %s: %w; the nearest differs: %s\nreceived since:\n%s", method, pattern, err, last, e.transcript(from))
	}
	return found, at, nil
}

// ofTurn reports whether messages with that method are sent only during a turn.
func ofTurn(method string) bool {
	for _, p := range []string{"agent/item/", "agent/turn/", "agent/delta",
		"agent/requestPermission", "agent/ask", "agent/retry"} {
		if strings.HasPrefix(method, p) {
			return true
		}
	}
	return false
}

// Log returns the messages starting at the given index.
func (e *Editor) Log(from int) []*Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*Message(nil), e.log[min(from, len(e.log)):]...)
}

// transcript returns the log starting at the given index, with one line per message. Long lines are
// shortened.
func (e *Editor) transcript(from int) string {
	var b strings.Builder
	for _, m := range e.Log(from) {
		line := m.String()
		if len(line) > 700 {
			line = line[:700] + "…"
		}
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// Unanswered returns the server requests that the editor has not answered.
func (e *Editor) Unanswered() []*Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*Message
	for _, m := range e.pending {
		out = append(out, m)
	}
	return out
}

// withdrawn waits until the daemon has withdrawn the unanswered requests. It returns the requests
// that remain open.
func (e *Editor) withdrawn() []*Message {
	_ = e.wait(func() bool { return len(e.pending) == 0 }, nil)
	return e.Unanswered()
}

// wait blocks until the function done returns true, or until waiting is pointless. It calls both
// functions while it holds the lock.
func (e *Editor) wait(done func() bool, hopeless func() string) error {
	expired := false
	var watch vigil
	timer := time.AfterFunc(Patience, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		expired = true
		e.changed.Broadcast()
	})
	defer timer.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for !done() {
		if e.ended != nil {
			return fmt.Errorf("the daemon's output ended: %w", e.ended)
		}
		if expired {
			return errors.New("nothing arrived in time")
		}
		if why := e.given(hopeless, &watch); why != "" {
			return errors.New(why)
		}
		e.changed.Wait()
	}
	return nil
}

// Ended waits for the end of the daemon's output.
func (e *Editor) Ended() error {
	return e.wait(func() bool { return e.ended != nil }, nil)
}

// CloseStdin closes the daemon's input, as if the editor had died.
func (e *Editor) CloseStdin() error { return e.in.Close() }
