package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// client is a small in-process LSP client. `run` uses it with a daemon in the same process, and
// `demo` uses it with a daemon that it has started. Both use the same wire protocol as an editor.
type client struct {
	version string // version of the client program
	conn    jsonrpc2.Conn
	// notify receives each notification in order, on the reading goroutine. It must not call the
	// daemon.
	notify func(method string, params json.RawMessage)
	// request answers a request from the server. Each call runs in its own goroutine.
	request func(ctx context.Context, method string, params json.RawMessage) (any, error)

	mu   sync.Mutex
	docs map[string]*document

	origin string // origin of the sessions that this client creates
}

// document is an open document and its version.
type document struct {
	version int32
	text    string
}

// duplex combines a daemon's stdout and stdin.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// connect starts a client over a daemon's streams. The client runs until ctx is canceled or the
// streams end.
func connect(ctx context.Context, stdout io.Reader, stdin io.WriteCloser, c *client) *client {
	c.docs = map[string]*document{}
	c.conn = jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(duplex{stdout, stdin}))
	c.conn.Go(ctx, c.handle)
	return c
}

func (c *client) handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	method, params := strings.Clone(req.Method()), append(json.RawMessage(nil), req.Params()...)
	if !req.IsCall() {
		c.notify(method, params)
		return nil, nil
	}
	jsonrpc2.Async(ctx)
	if method == "workspace/applyEdit" {
		return c.applyEdit(ctx, params)
	}
	return c.request(ctx, method, params)
}

// call sends a request and waits for its result.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	if _, err := c.conn.Call(ctx, method, params, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// initialize performs the handshake for one folder. permission and ask state which requests the
// caller answers. initialize announces them in capabilities.experimental.agentLsp.
func (c *client) initialize(ctx context.Context, folder string, options any, permission,
	ask bool) error {
	uri := workspace.URIOfPath(folder)
	params := map[string]any{
		"processId": os.Getpid(), "rootUri": uri,
		"clientInfo":            map[string]any{"name": "agent-lsp", "version": c.version},
		"workspaceFolders":      []any{map[string]any{"uri": uri, "name": "workspace"}},
		"initializationOptions": options,
		"capabilities": map[string]any{
			"general": map[string]any{"positionEncodings": []string{"utf-8"}},
			"workspace": map[string]any{"applyEdit": true,
				"workspaceEdit": map[string]any{"documentChanges": true}},
			"experimental": map[string]any{"agentLsp": map[string]any{
				"version": 1, "permission": permission, "ask": ask,
				"editor": map[string]any{"save": ask}}},
		},
	}
	var result json.RawMessage
	if err := c.call(ctx, "initialize", params, &result); err != nil {
		return err
	}
	return c.conn.Notify(ctx, "initialized", struct{}{})
}

// shutdown stops the daemon as an editor does.
func (c *client) shutdown(ctx context.Context) error {
	var null json.RawMessage
	if err := c.call(ctx, "shutdown", nil, &null); err != nil {
		return err
	}
	return c.conn.Notify(ctx, "exit", nil)
}

// prompt sends a prompt to a session and returns the session's id. If session is empty, prompt
// creates a session. If the daemon refuses the first prompt of a new session, prompt deletes the
// session, because it is empty.
func (c *client) prompt(ctx context.Context, session, text string) (string, error) {
	id := session
	if id == "" {
		var made wire.SessionNewResult
		params := wire.SessionNewParams{Origin: c.origin}
		if err := c.call(ctx, wire.MethodSessionNew, params, &made); err != nil {
			return "", err
		}
		id = made.SessionID
	}
	err := c.call(ctx, wire.MethodPrompt, map[string]any{"sessionId": id, "prompt": text},
		new(wire.PromptResult))
	if err != nil && session == "" {
		bound, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer stop()
		_ = c.call(bound, wire.MethodSessionDelete, wire.SessionParams{SessionID: id},
			new(json.RawMessage))
	}
	return id, err
}

// open opens a document with text that may differ from the file on disk.
func (c *client) open(ctx context.Context, uri, language, text string) error {
	c.mu.Lock()
	c.docs[uri] = &document{version: 1, text: text}
	c.mu.Unlock()
	return c.conn.Notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": language, "version": 1, "text": text}})
}

// text returns an open document's text.
func (c *client) text(uri string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.docs[uri]; d != nil {
		return d.text
	}
	return ""
}

// save writes an open document's text to its file.
func (c *client) save(uri string) error {
	path, err := workspace.PathOfURI(uri)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(c.text(uri)), 0o644)
}
