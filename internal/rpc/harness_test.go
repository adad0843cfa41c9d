package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/editor"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the maximum time that a test waits for an expected event.
const patience = 2 * time.Minute

// msg is a message as it was sent.
type msg struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (m msg) String() string {
	b, _ := json.Marshal(m)
	return fmt.Sprintf("%.600s", b)
}

// fakeModel is a model that is implemented by a function.
type fakeModel func(ctx context.Context, req *agent.Request, on func(agent.Delta)) (*agent.Reply,
	error)

func (f fakeModel) Generate(
	ctx context.Context,
	req *agent.Request,
	on func(agent.Delta),
) (*agent.Reply, error) {
	return f(ctx, req, on)
}
func (f fakeModel) Info() agent.ModelInfo { return agent.ModelInfo{ID: "fake"} }

// says returns a model that streams a text word by word.
func says(text string) fakeModel {
	return func(ctx context.Context, _ *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
		for _, w := range strings.SplitAfter(text, " ") {
			on(agent.Delta{Kind: agent.DeltaText, Text: w})
		}
		return &agent.Reply{Message: message.NewText(message.RoleAssistant, text)}, nil
	}
}

// hangs returns a model whose calls end only when the turn is aborted. Each call sends a value to
// begun.
func hangs(begun chan<- struct{}) fakeModel {
	return func(ctx context.Context, _ *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
		on(agent.Delta{Kind: agent.DeltaText, Text: "thinking"})
		begun <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}

// plainSettings are settings that have a single layer.
type plainSettings struct{}

func (plainSettings) Session(own json.RawMessage) (config.Config, []string, error) {
	var c config.Config
	if len(own) == 0 {
		return c, nil, nil
	}
	return c, nil, agentapi.DecodeParams(own, &c)
}
func (plainSettings) Storable(own json.RawMessage) json.RawMessage { return own }

func (plainSettings) Merge(own, changes json.RawMessage) (json.RawMessage, error) {
	return changes, nil
}
func (plainSettings) ClientChanged(json.RawMessage) ([]string, error) { return nil, nil }

// testClient is the client side of a connection.
type testClient struct {
	t       *testing.T
	in      io.WriteCloser
	out     io.Closer
	mu      sync.Mutex
	all     []msg
	next    chan struct{} // closed and replaced when a message arrives
	nextID  int
	served  chan error
	closing sync.Once
	answers func(msg) any
	read    chan struct{} // closed at the end of the output; nil if the client does not read
	core    *agentapi.Core
	peer    *editor.Peer
	server  *server
}

// testCore holds the components of a connection's Core and of its host.
type testCore struct {
	agentapi.Core
	host.Options
}

type harnessOptions struct {
	model  agent.Model
	tools  []tool.Tool
	dir    string // the folder for sessions, which several daemons may share
	root   string
	ready  func() error
	core   func(*testCore)
	prompt func(*agent.Options, *testClient)
	stuck  bool          // whether the client never reads
	answer func(msg) any // the client's answer to a request; nil if the test answers
	opts   func(*Options)
	shares *testClient // the client whose host this connection shares; nil for its own host
}

// start starts a server and a client that are connected by pipes.
func start(t *testing.T, h harnessOptions) *testClient {
	t.Helper()
	if h.model == nil {
		h.model = says("hello world")
	}
	if h.dir == "" {
		h.dir = t.TempDir()
	}
	if h.root == "" {
		h.root = t.TempDir()
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &testClient{
		t:       t,
		answers: h.answer,
		in:      inW,
		out:     outR,
		next:    make(chan struct{}),
		served:  make(chan error, 1),
	}
	opts := Options{In: inR, Out: outW, Version: "test", Log: slog.New(slog.DiscardHandler)}
	opts.Start = func(_ context.Context, in agentapi.Init) (*agentapi.Core, error) {
		if h.shares != nil {
			c.peer, c.core = in.Editor.(*editor.Peer), h.shares.core
			return c.core, nil
		}
		return c.build(h, in)
	}
	if h.opts != nil {
		h.opts(&opts)
	}
	c.server = newServer(context.Background(), opts)
	go func() { c.served <- c.server.serve(context.Background()) }()
	if !h.stuck {
		c.read = make(chan struct{})
		go func() { defer close(c.read); c.listen(outR) }()
	}
	t.Cleanup(c.close)
	return c
}

func (c *testClient) build(h harnessOptions, in agentapi.Init) (*agentapi.Core, error) {
	c.peer = in.Editor.(*editor.Peer)
	tools, err := tool.NewRegistry(h.tools...)
	if err != nil {
		return nil, err
	}
	library := session.Open(h.dir)
	ws := workspace.New(
		workspace.Options{
			Client:     in.Editor,
			WorkingDir: h.root,
			OnProposal: func(e workspace.ProposalEvent) { c.core.Host.ProposalChanged(e) },
			OnNotice:   in.Editor.Notice,
		},
	)
	core := &testCore{Core: agentapi.Core{
		Workspace: ws, Library: library, Settings: plainSettings{},
		Close: func(context.Context) error { ws.Close(); return library.Close() },
	}, Options: host.Options{
		Prepare: func(context.Context, host.SessionInfo) (agent.Options, error) {
			o := agent.Options{
				Environment: agent.EnvironmentFunc(
					func(context.Context, agent.TurnInfo) (agent.Step, error) {
						return agent.Step{Models: []agent.Model{h.model}, Tools: tools}, nil
					},
				),
			}
			if h.prompt != nil {
				h.prompt(&o, c)
			}
			return o, nil
		},
	}}
	c.core = &core.Core
	if h.ready != nil {
		c.core.Ready = func(string, string) error { return h.ready() }
	}
	if h.core != nil {
		h.core(core)
	}
	core.Options.Workspace, core.Options.Library = ws, library
	core.Options.Settings = core.Core.Settings
	c.core.Host = host.New(core.Options)
	return c.core, nil
}

// close closes the input and waits until the server has ended and its output has been read. A
// second call does nothing.
func (c *testClient) close() { c.closing.Do(c.end) }

func (c *testClient) end() {
	c.in.Close()
	select {
	case <-c.served:
	case <-time.After(patience):
		c.t.Error("Serve did not return after the end of input")
	}
	c.out.Close()
	if c.read != nil {
		<-c.read
	}
}

// listen records the messages until the end of r.
func (c *testClient) listen(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSpace(line)
			if line == "" {
				break
			}
			if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				length, _ = strconv.Atoi(v)
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		var m msg
		if err := json.Unmarshal(body, &m); err != nil {
			c.t.Errorf("the server sent %.200q: %v", body, err)
		}
		if c.answers != nil && m.Method != "" && len(m.ID) > 0 {
			c.reply(m)
		}
		c.mu.Lock()
		c.all = append(c.all, m)
		close(c.next)
		c.next = make(chan struct{})
		c.mu.Unlock()
	}
}

// reply answers a server request, unless the input is already closed.
func (c *testClient) reply(m msg) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": c.answers(m)})
	if err != nil {
		c.t.Error(err)
	}
	_, _ = fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

// send writes a message. Its params may be a struct, a map or raw JSON.
func (c *testClient) send(v map[string]any) {
	c.t.Helper()
	v["jsonrpc"] = "2.0"
	body, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	c.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
}

func (c *testClient) raw(frame string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, frame); err != nil {
		c.t.Fatalf("writing to the server: %v", err)
	}
}

func (c *testClient) notify(method string, params any) {
	c.send(map[string]any{"method": method, "params": params})
}

// request sends a request and returns its ID.
func (c *testClient) request(method string, params any) int {
	c.nextID++
	c.send(map[string]any{"id": c.nextID, "method": method, "params": params})
	return c.nextID
}

// wait returns the first message that matches, and its position in the log. It also considers
// messages that have already arrived.
func (c *testClient) wait(what string, fits func(msg) bool) (msg, int) {
	c.t.Helper()
	timeout := time.After(patience)
	from := 0
	for {
		c.mu.Lock()
		for i := from; i < len(c.all); i++ {
			if fits(c.all[i]) {
				m := c.all[i]
				c.mu.Unlock()
				return m, i
			}
		}
		from = len(c.all)
		next := c.next
		c.mu.Unlock()
		select {
		case <-next:
		case <-timeout:
			c.t.Fatalf("%s did not arrive; got:\n%s", what, c.dump())
		}
	}
}

func (c *testClient) dump() string {
	var b strings.Builder
	for _, m := range c.messages() {
		b.WriteString(m.String() + "\n")
	}
	return b.String()
}

func (c *testClient) messages() []msg {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]msg(nil), c.all...)
}

func isAnswer(id int) func(msg) bool {
	return func(m msg) bool { return m.Method == "" && string(m.ID) == strconv.Itoa(id) }
}

// answer waits for the response to a request.
func (c *testClient) answer(id int) msg {
	c.t.Helper()
	m, _ := c.wait("the answer to "+strconv.Itoa(id), isAnswer(id))
	return m
}

// call sends a request and decodes its result.
func (c *testClient) call(method string, params, result any) {
	c.t.Helper()
	m := c.answer(c.request(method, params))
	if m.Error != nil {
		c.t.Fatalf("%s answered %d %s", method, m.Error.Code, m.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			c.t.Fatalf("%s answered %s: %v", method, m.Result, err)
		}
	}
}

// refused sends a request and returns the error response, which must have the given code.
func (c *testClient) refused(code int, method string, params any) msg {
	c.t.Helper()
	m := c.answer(c.request(method, params))
	if m.Error == nil || m.Error.Code != code {
		c.t.Fatalf("%s answered %s, want error %d", method, m, code)
	}
	return m
}

// initialize initializes the connection with the given agent/* claims, which may be nil.
func (c *testClient) initialize(root string, claims map[string]any) {
	c.t.Helper()
	caps := map[string]any{
		"general": map[string]any{"positionEncodings": []string{"utf-8", "utf-16"}},
	}
	if claims != nil {
		caps["experimental"] = map[string]any{"agentLsp": claims}
	}
	params := map[string]any{"capabilities": caps}
	if root != "" {
		params["rootUri"] = agentapi.PathToURI(root)
	}
	c.call("initialize", params, nil)
	c.notify("initialized", map[string]any{})
}

// claimed starts a server and a client that claims agent/requestPermission and agent/ask.
func claimed(t *testing.T, h harnessOptions) *testClient {
	t.Helper()
	if h.root == "" {
		h.root = t.TempDir()
	}
	c := start(t, h)
	c.initialize(h.root, map[string]any{"version": 1, "permission": true, "ask": true})
	return c
}

// newSession creates a session.
func (c *testClient) newSession() string {
	c.t.Helper()
	var r wire.SessionNewResult
	c.call(wire.MethodSessionNew, map[string]any{}, &r)
	return r.SessionID
}

// prompt sends a prompt and returns the result.
func (c *testClient) prompt(sessionID, text string) wire.PromptResult {
	c.t.Helper()
	var r wire.PromptResult
	c.call(wire.MethodPrompt, map[string]any{"sessionId": sessionID, "prompt": text}, &r)
	return r
}

// turnEnd waits until a turn is completed.
func (c *testClient) turnEnd(turnID string) wire.Turn {
	c.t.Helper()
	m, _ := c.wait("the end of turn "+turnID, isTurnEnd(turnID))
	var p wire.TurnCompleted
	if err := json.Unmarshal(m.Params, &p); err != nil {
		c.t.Fatal(err)
	}
	return p.Turn
}

func isTurnEnd(turnID string) func(msg) bool {
	return func(m msg) bool {
		return m.Method == wire.MethodTurnCompleted &&
			strings.Contains(string(m.Params), `"`+turnID+`"`)
	}
}

func isMethod(
	method string,
) func(msg) bool {
	return func(m msg) bool { return m.Method == method }
}
