package mcp

import (
	"context"
	"net/http"
	"sort"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// Limits and defaults.
const (
	// ListTimeout limits how long one server may take to start and list its tools.
	ListTimeout = 30 * time.Second
	// CallTimeout limits one call unless the server's settings set another limit.
	CallTimeout = 5 * time.Minute
	// firstBackoff and maxBackoff limit the wait before a server that ended is started again.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// maxStarts is how many times a server is started if it repeatedly ends within stableAfter.
	maxStarts   = 5
	stableAfter = time.Minute
	// maxDescription limits the size of one tool's description that is sent to the model.
	maxDescription = 2 << 10
	// maxTools is how many tools a server may list. Without this limit, a server that returns pages
	// without end would exhaust the memory.
	maxTools = 5000
)

// Config describes one server. Either Command or URL is set.
type Config struct {
	Name    string
	Command string
	Args    []string
	Env     []string // the server's complete environment, without the provider's secrets
	Dir     string
	URL     string
	Headers map[string]string
	Allowed func(tool string) bool // nil: all of the server's tools are offered
	Timeout time.Duration          // time limit of a call; 0: CallTimeout
	// Starts is called at each start. It returns nil if the server may start, and otherwise the
	// reason why it may not.
	Starts func() error

	rivals []string // servers whose tool names may collide with those of this server
}

// Options are the dependencies of a Hub.
type Options struct {
	Runner *shell.Runner
	Roots  func() []string // URIs of the current workspace folders; see RootsChanged
	// Elicit asks the user a question on behalf of a server. schema is the JSON Schema of the
	// answer. ctx ends together with the call that caused the question. If Elicit is nil, servers
	// are informed that the client cannot ask the user.
	Elicit func(ctx context.Context, q Elicitation) (action string, content map[string]any)
	// Notice notifies the user of a problem with a server.
	Notice func(level, text string)
	// Changed is called after the set of tools has changed. It must not block.
	Changed func()

	listTimeout time.Duration // 0: ListTimeout

	http *http.Client // for tests; nil: http.DefaultTransport
}

// Elicitation is a question that a server asks the user.
type Elicitation struct {
	Server    string
	SessionID string // session of the newest running call, "" if no call is running
	Message   string
	Schema    any
}

// Hub contains the servers of one daemon. Its methods are safe for concurrent use. Only Close and
// the methods with a context wait for a server.
type Hub struct {
	opts   Options
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	gate   gate

	mu      sync.Mutex
	servers map[string]*server
	news    chan struct{} // closed once a server has become ready or has failed for the first time
}

// New returns a Hub without servers.
func New(o Options) *Hub {
	if o.Notice == nil {
		o.Notice = func(string, string) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Roots == nil {
		o.Roots = func() []string { return nil }
	}
	if o.listTimeout == 0 {
		o.listTimeout = ListTimeout
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Hub{opts: o, ctx: ctx, cancel: cancel, servers: map[string]*server{},
		news: make(chan struct{})}
}

// Later runs f in the background once servers may start, at the earliest after startPause. The
// daemon uses it to read the configurations for Configure, so that it does not read them while a
// prompt has priority. A closed Hub does not run f.
func (h *Hub) Later(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return
	}
	calm := h.gate.calm()
	h.wg.Go(func() {
		select {
		case <-calm:
			f()
		case <-h.ctx.Done():
		}
	})
}

// Configure replaces the set of running servers with configs. New servers start in the background,
// a few at a time. Servers that were removed or changed are stopped. Configure returns immediately.
func (h *Hub) Configure(configs []Config) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return
	}
	want := map[string]bool{}
	for _, c := range configs {
		want[c.Name] = true
		c.rivals = rivals(c.Name, configs)
		old := h.servers[c.Name]
		if old != nil && old.same(c) {
			old.allow(c.Allowed)
			continue
		}
		if old != nil {
			old.stop()
		}
		h.servers[c.Name] = h.launch(c)
	}
	for name, s := range h.servers {
		if !want[name] {
			s.stop()
			delete(h.servers, name)
		}
	}
}

func (h *Hub) launch(c Config) *server {
	ctx, cancel := context.WithCancel(h.ctx)
	s := &server{hub: h, conf: c, cancel: cancel, allowed: c.Allowed, ended: ctx.Done(),
		settled: make(chan struct{}), news: make(chan struct{})}
	h.wg.Add(1)
	go func() {
		defer h.wg.Done()
		s.keep(ctx)
	}()
	return s
}

// Hold keeps servers from starting until startPause after release is called, or until holdLimit has
// passed. release may be called more than once. A starting server takes processor time from urgent
// work, such as a prompt that is about to be sent to the model. Servers that are already starting
// continue.
func (h *Hub) Hold() (release func()) { return h.gate.hold(holdLimit) }

// Tools returns the tools of the servers that are ready or were ready, sorted by server and then by
// name. A server that ended and is being started again keeps its tools. Calls of these tools wait
// for the server for at most restartWait, and then fail with the reason.
func (h *Hub) Tools() []tool.Tool {
	var out []tool.Tool
	for _, s := range h.sorted() {
		out = append(out, s.list()...)
	}
	return out
}

func (h *Hub) sorted() []*server {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*server, 0, len(h.servers))
	for _, s := range h.servers {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].conf.Name < out[j].conf.Name })
	return out
}

// Pending returns a function that waits until one more server is ready or has failed, and reports
// whether there may be more tools now. It ignores a server once the duration within has passed
// since its start, so that a server that hangs does not delay a search for tools from other
// sources. It returns nil if no server is starting except those that it ignores.
func (h *Hub) Pending(within time.Duration) (wait func(ctx context.Context) bool) {
	h.mu.Lock()
	news := h.news
	h.mu.Unlock()
	var until time.Time
	for _, s := range h.sorted() {
		select {
		case <-s.settled:
		default:
			began := s.launchedAt()
			if began.IsZero() {
				began = time.Now() // the server's turn comes later
			}
			if end := began.Add(within); time.Now().Before(end) &&
				(until.IsZero() || end.Before(until)) {
				until = end
			}
		}
	}
	if until.IsZero() {
		return nil
	}
	return func(ctx context.Context) bool {
		late, stop := context.WithDeadline(ctx, until)
		defer stop()
		select {
		case <-news:
		case <-late.Done():
		}
		return ctx.Err() == nil
	}
}

// Status describes one server for `agent-lsp doctor` and agent/status.
type Status struct {
	Name  string
	State string // starting, ready, failed
	Error string
	Tools int
}

// Status returns the status of the servers, sorted by name.
func (h *Hub) Status() []Status {
	var out []Status
	for _, s := range h.sorted() {
		out = append(out, s.status())
	}
	return out
}

// Close stops all servers and waits until they have stopped.
func (h *Hub) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.wg.Wait()
}
