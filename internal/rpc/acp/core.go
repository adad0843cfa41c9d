package acp

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// core connects the client to the host for one set of folders and MCP servers. It asks the user the
// host's questions, reads and writes files through the client, and converts session events to
// updates.
type core struct {
	a      *adapter
	key    string // key in adapter.cores
	roots  []string
	ctx    context.Context // canceled after the requests of core have been answered
	cancel context.CancelCauseFunc
	api    *agentapi.API
	docs   *documents
	quit   func()        // starts the shutdown; may be called more than once
	ending chan struct{} // closed by quit
	done   chan struct{} // closed when everything has ended
	ready  chan struct{} // closed when the core has started or failed to start
	err    error         // why the start failed; may be read after ready is closed
	// lane is held by requests that create, load, configure or delete sessions, or that send or
	// remove messages.
	lane sync.Mutex

	mu    sync.Mutex
	gone  bool // whether new requests are refused
	calls sync.WaitGroup
	asked map[*host.Open]*sync.WaitGroup // open questions, each with its unfinished repetitions
	last  string                         // the session that was prompted last
	// listed is the latest list of models. It is nil if the provider was not asked or did not
	// answer.
	listed *listing
}

// coreFor returns the core for a session's folders and MCP servers. It starts a core if necessary.
func (a *adapter) coreFor(ctx context.Context, cwd string, more []string,
	servers []acp.McpServer) (*core, error) {
	roots, err := folders(cwd, more)
	if err != nil {
		return nil, err
	}
	mcp, err := mcpConfig(servers)
	if err != nil {
		return nil, err
	}
	c := a.claim(coreKey(roots, mcp), roots, mcp)
	if c == nil {
		return nil, fail(codeCancelled, "the connection is closing")
	}
	select {
	case <-c.ready:
		return c, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// coreKey identifies the sessions that share a core. It uses the folder names as the client gives
// them, without resolving links, because sessions are stored and files are named in the same way.
func coreKey(roots []string, mcp map[string]config.MCP) string {
	return string(encode([]any{roots, mcp}))
}

// claim returns the core with that key, or nil if the connection is closing. The first call also
// stops the core that was started ahead, unless that is the requested core.
func (a *adapter) claim(key string, roots []string, mcp map[string]config.MCP) *core {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return a.cores[key]
	}
	early := a.ahead
	a.ahead = nil
	c := a.cores[key]
	if c == nil {
		c = a.launch(key, roots, mcp)
	}
	if early != nil && early != c {
		delete(a.cores, early.key)
		a.background(func(context.Context) { early.stop(); <-early.done })
	}
	return c
}

// launch starts a core. The caller must hold mu.
func (a *adapter) launch(key string, roots []string, mcp map[string]config.MCP) *core {
	c := a.newCore(key, roots)
	a.cores[key] = c
	go c.run(mcp, func() { a.forgetCore(key, c) })
	return c
}

// startAhead starts the core for the folder Options.Ahead unless a core has already been requested.
func (a *adapter) startAhead(context.Context) {
	roots, err := folders(a.opts.Ahead, nil)
	if err != nil {
		return
	}
	none := map[string]config.MCP{}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended && len(a.cores) == 0 {
		a.ahead = a.launch(coreKey(roots, none), roots, none)
	}
}

// folders checks that a session's folders are absolute and exist.
func folders(cwd string, more []string) ([]string, error) {
	var out []string
	for i, dir := range append([]string{cwd}, more...) {
		name := "cwd"
		if i > 0 {
			name = fmt.Sprintf("additionalDirectories[%d]", i-1)
		}
		if !filepath.IsAbs(dir) {
			return nil, fail(codeInvalidParams, "%s: %q is not an absolute path", name, dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fail(codeInvalidParams, "%s: %q is not a folder", name, dir)
		}
		if dir = filepath.Clean(dir); !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out, nil
}

// mcpConfig converts the MCP servers that the client names to settings.
func mcpConfig(servers []acp.McpServer) (map[string]config.MCP, error) {
	out := map[string]config.MCP{}
	for i, s := range servers {
		switch {
		case s.Stdio != nil:
			m := config.MCP{Command: s.Stdio.Command, Args: s.Stdio.Args, Env: map[string]string{}}
			for _, e := range s.Stdio.Env {
				m.Env[e.Name] = e.Value
			}
			out[s.Stdio.Name] = m
		case s.Http != nil:
			m := config.MCP{Type: "http", URL: s.Http.Url, Headers: map[string]string{}}
			for _, h := range s.Http.Headers {
				m.Headers[h.Name] = h.Value
			}
			out[s.Http.Name] = m
		default:
			return nil, fail(codeInvalidParams,
				"mcpServers[%d]: only stdio and http servers can be used", i)
		}
	}
	return out, nil
}

func (a *adapter) newCore(key string, roots []string) *core {
	c := &core{
		a: a, key: key, roots: roots, asked: map[*host.Open]*sync.WaitGroup{},
		ending: make(chan struct{}), done: make(chan struct{}), ready: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(a.ctx))
	c.quit = sync.OnceFunc(func() { close(c.ending) })
	c.docs = newDocuments(c)
	c.api = agentapi.New(agentapi.Options{
		Version: a.opts.Version, Subscriber: c, AskAgain: c.askAgain,
	})
	return c
}

// run starts the core, waits until it is stopped, and ends it. When the core has ended or could not
// start, run calls forget.
func (c *core) run(mcp map[string]config.MCP, forget func()) {
	defer forget()
	defer close(c.done)
	c.err = c.open(mcp)
	close(c.ready)
	if c.err != nil {
		c.cancel(agentapi.ErrGone)
		return
	}
	select {
	case <-c.ending:
	case <-c.a.ctx.Done():
	}
	c.end()
}

// open builds the API's core and registers as its client.
func (c *core) open(mcp map[string]config.MCP) error {
	init := agentapi.Init{Editor: c}
	for _, dir := range c.roots {
		init.Roots = append(init.Roots, workspace.URIOfPath(dir))
	}
	if len(mcp) > 0 {
		init.InitializationOptions = encode(map[string]any{"mcpServers": mcp})
	}
	built, err := c.a.opts.Start(init, c.a)
	if err != nil {
		return agentapi.WireError(fmt.Errorf("starting: %w", err))
	}
	built.Host.Clients().Join()
	built.Workspace.SetEncoding(workspace.UTF8)
	built.Workspace.SetRoots(init.Roots)
	c.api.Open(built)
	built.Host.Questions().Attach(c)
	built.Host.Clients().Subscribe(c)
	return nil
}

// end aborts running work, answers the open requests and closes everything. Every wait has a limit.
func (c *core) end() {
	ctx, done := context.WithTimeout(context.Background(), closeGrace)
	defer done()
	c.finishQueued()
	built := c.api.Core()
	if err := built.Host.Close(ctx); err != nil {
		c.a.log.Warn("closing sessions", "error", err)
	}
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	await(&c.calls, answerGrace)
	c.cancel(agentapi.ErrGone)
	await(&c.calls, flushGrace)
	built.Host.Clients().Unsubscribe(c)
	if err := built.Host.CloseStores(); err != nil {
		c.a.log.Warn("closing the stored sessions", "error", err)
	}
	if err := built.Close(ctx); err != nil {
		c.a.log.Warn("closing", "error", err)
	}
}

// finishQueued waits until the requests that wait for the lane have been accepted, before
// everything is aborted.
func (c *core) finishQueued() {
	entered := make(chan struct{})
	go func() {
		c.lane.Lock()
		defer c.lane.Unlock()
		close(entered)
	}()
	waitFor(entered, answerGrace)
}

func (a *adapter) forgetCore(key string, c *core) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cores[key] == c {
		delete(a.cores, key)
	}
	maps.DeleteFunc(a.sessions, func(_ string, s *session) bool { return s.core == c })
}

// stop starts the shutdown, which aborts running turns and answers open requests.
func (c *core) stop() { c.quit() }

// prompted records the session for which the daemon reads and writes files.
func (c *core) prompted(sessionID string) {
	c.mu.Lock()
	c.last = sessionID
	c.mu.Unlock()
}

func (c *core) lastSession() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
