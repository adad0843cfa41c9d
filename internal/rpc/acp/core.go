package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// core is one server within the process, for one set of folders and MCP servers, and we its
// client: what it asks comes over a pipe, what we ask and what sessions tell over local.
type core struct {
	a     *adapter
	key   string // in adapter.cores
	roots []string
	in    *io.PipeWriter
	conn  jsonrpc2.Conn
	local *rpc.Local
	done  chan struct{} // the server has ended
	ready chan struct{} // initialize was answered, or failed
	err   error         // why it failed; read after ready
	docs  *documents

	mu     sync.Mutex
	asked  map[string]context.CancelFunc // requests of the server, by id
	last   string                        // the session that was prompted last
	listed *listing                      // the last one; nil: the provider was not asked, or did not answer
}

// duplex joins the server's output and input.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// coreFor returns the server for a session's folders and MCP servers, started where there is none.
func (a *adapter) coreFor(ctx context.Context, cwd string, more []string, servers []acp.McpServer) (*core, error) {
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
		return nil, fail(codeCancelled, "the connection ends")
	}
	select {
	case <-c.ready:
		return c, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// coreKey says which sessions share a server. What the folders are called counts, not what they are: sessions are
// stored, and files named, by what the client says.
func coreKey(roots []string, mcp map[string]config.MCP) string {
	return string(encode([]any{roots, mcp}))
}

// claim returns the server of that key for somebody who needs it, nil when the connection ends. The first who comes
// decides about the one that was started ahead: it is that server, or it goes.
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

// launch starts a server. The caller holds mu.
func (a *adapter) launch(key string, roots []string, mcp map[string]config.MCP) *core {
	c := a.newCore(key, roots)
	a.cores[key] = c
	go c.start(mcp, func() { a.forgetCore(key, c) })
	return c
}

// startAhead starts the server of Options.Ahead, if nobody has asked for one yet.
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

// folders checks a session's folders: absolute, and there.
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

// mcpConfig writes the client's MCP servers as settings.
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
			return nil, fail(codeInvalidParams, "mcpServers[%d]: only stdio and http servers can be used", i)
		}
	}
	return out, nil
}

func (a *adapter) newCore(key string, roots []string) *core {
	c := &core{a: a, key: key, roots: roots, done: make(chan struct{}), ready: make(chan struct{}), asked: map[string]context.CancelFunc{}}
	c.docs = newDocuments(c)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c.in = inW
	c.local = rpc.NewLocal(c)
	go func() {
		defer close(c.done)
		if err := a.opts.Core(a.ctx, rpc.Options{In: inR, Out: outW, Log: a.log, Version: a.opts.Version, Local: c.local}, a); err != nil {
			a.log.Error("the internal server stopped", "error", err)
		}
		inR.Close()
		outW.Close()
	}()
	c.conn = jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(duplex{outR, inW}), jsonrpc2.WithCodec(codec))
	c.conn.Go(a.ctx, c.handle)
	return c
}

// start does the handshake. A server that cannot start, or has ended, is forgotten.
func (c *core) start(mcp map[string]config.MCP, forget func()) {
	c.err = c.initialize(mcp)
	close(c.ready)
	if c.err != nil {
		c.stop()
	}
	<-c.done
	forget()
}

func (a *adapter) forgetCore(key string, c *core) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cores[key] == c {
		delete(a.cores, key)
	}
	maps.DeleteFunc(a.sessions, func(_ string, s *session) bool { return s.core == c })
}

// initialize tells the server who we are. What it answers is known: nothing of it crosses the pipe.
func (c *core) initialize(mcp map[string]config.MCP) error {
	select {
	case <-c.local.Served():
	case <-c.done:
		return fail(codeInternal, "the internal server did not start; see the log")
	}
	var list []any
	for _, dir := range c.roots {
		list = append(list, map[string]any{"uri": workspace.URIOfPath(dir), "name": filepath.Base(dir)})
	}
	options := map[string]any{}
	if len(mcp) > 0 {
		options["mcpServers"] = mcp
	}
	fs := c.a.client.Fs
	creates := []string{}
	if fs.WriteTextFile {
		creates = []string{"create"}
	}
	params := map[string]any{
		"rootUri": workspace.URIOfPath(c.roots[0]), "workspaceFolders": list, "initializationOptions": options,
		"clientInfo": map[string]any{"name": "acp", "version": c.a.opts.Version},
		"capabilities": map[string]any{
			"general":   map[string]any{"positionEncodings": []string{"utf-8"}},
			"workspace": map[string]any{"applyEdit": true, "workspaceEdit": map[string]any{"documentChanges": true, "resourceOperations": creates}},
			"experimental": map[string]any{"agentLsp": map[string]any{"version": wire.Version, "permission": true, "ask": true,
				"editor": map[string]any{"save": fs.WriteTextFile, "open": fs.ReadTextFile}}},
		},
	}
	return c.call(c.a.ctx, "initialize", params, nil)
}

// stop ends the server's input: it aborts what runs, answers what was asked, and ends.
func (c *core) stop() { _ = c.in.Close() }

// call asks the server.
func (c *core) call(ctx context.Context, method string, params, result any) error {
	return c.local.Call(ctx, method, params, result, nil)
}

// handle takes what the server asks, and what it tells of no session.
func (c *core) handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	method, params := strings.Clone(req.Method()), append(json.RawMessage(nil), req.Params()...)
	if !req.IsCall() {
		if method == "$/cancelRequest" {
			c.cancelled(params)
		}
		return nil, nil
	}
	asked, done := c.begin(fmt.Sprint(req.ID()))
	jsonrpc2.Async(ctx)
	defer done()
	return c.answer(asked, method, params)
}

func (c *core) begin(id string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(c.a.ctx)
	c.mu.Lock()
	c.asked[id] = cancel
	c.mu.Unlock()
	return ctx, func() {
		cancel()
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}
}

func (c *core) cancelled(params json.RawMessage) {
	var p struct{ ID json.RawMessage }
	_ = json.Unmarshal(params, &p)
	c.mu.Lock()
	cancel := c.asked[fmt.Sprint(jsonrpc.IDFrom(p.ID))]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// answer answers a request of the server.
func (c *core) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "workspace/applyEdit":
		return c.docs.applyEdit(ctx, params)
	case wire.MethodEditorOpen:
		var p wire.EditorOpenParams
		_ = json.Unmarshal(params, &p)
		opened, err := c.docs.refresh(ctx, p.URI)
		return wire.EditorOpenResult{Opened: opened}, err
	case wire.MethodEditorSave:
		var p wire.EditorSaveParams
		_ = json.Unmarshal(params, &p)
		return c.docs.save(ctx, p.URIs), nil
	case wire.MethodRequestPermission:
		var p wire.RequestPermissionParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return c.a.permission(ctx, p)
	case wire.MethodAsk:
		var p wire.AskParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return c.a.ask(ctx, p)
	}
	return nil, fail(codeMethodNotFound, "%s is not offered", method)
}

// prompted remembers on whose behalf files are read and written.
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

// pathOf returns the path of a file URI, "" of another one.
func pathOf(uri string) string {
	path, _ := workspace.PathOfURI(uri)
	return path
}
