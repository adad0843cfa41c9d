package langserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/pause"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Limits for one server.
const (
	// StartTimeout is how long a server may take to answer initialize.
	StartTimeout = 30 * time.Second
	// maxStarts is the maximum number of times that a server is started, including the first time.
	maxStarts = 3
	// againAfter is the pause before a request is repeated because a server canceled it or found it
	// outdated.
	againAfter = 50 * time.Millisecond
	maxWork    = 200
)

// server is one language server for one root. Its methods are safe for concurrent use.
type server struct {
	hub    *Hub
	conf   Config
	root   string
	starts int
	boxed  bool // the server runs in a sandbox; set before initialization
	cancel context.CancelFunc
	ready  chan struct{} // closed when the server is initialized or has failed
	c      *conn

	editing sync.Mutex // one edit is checked at a time
	open    openDocuments
	actions commandActions

	mu       sync.Mutex // guards the fields below, and fields of other types that say so
	settled  bool
	err      error // why it ended
	enc      workspace.Encoding
	caps     map[string]json.RawMessage
	problems problems
	work     map[string]string // titles of the server's work in progress, by token
	news     chan struct{}     // closed at the next change of the fields above
}

// openDocuments records which documents were sent to the server.
type openDocuments struct {
	sending sync.Mutex           // orders outgoing messages; acquired before the server's lock
	docs    map[string]*document // documents by path; guarded by the server's lock
}

// commandActions runs the commands of code actions, one at a time.
type commandActions struct {
	mu     sync.Mutex
	wanted chan json.RawMessage // receives the edit of a command; guarded by the server's lock
}

// problems are the diagnostics that a server has reported. They are guarded by the server's lock.
type problems struct {
	diags    map[string]*published // diagnostics that the server published, by path
	pulled   map[string]*published // diagnostics that the server returned on request
	unheard  int                   // number of requests before the server first published anything
	reported map[string]int        // errors and warnings that the model already knows, with counts
	seq      int                   // publications and requested reports so far
}

// run starts the server and serves it until it ends.
func (s *server) run(ctx context.Context) {
	proc, err := s.start(ctx)
	if err != nil {
		s.fail(err)
		return
	}
	var begin sync.WaitGroup
	begin.Go(func() {
		if err := s.initialize(ctx); err != nil {
			s.fail(err)
			s.cancel()
		}
	})
	err = s.c.run(proc.Stdout, proc.Stdin)
	proc.Kill()
	_, _ = proc.Wait() // stderr is complete after this call
	_ = proc.Stdout.Close()
	if text := strings.TrimSpace(proc.Stderr()); text != "" {
		lines := strings.Split(text, "\n")
		err = fmt.Errorf("%w; it said: %s", err, strings.Join(lines[max(0, len(lines)-3):], " | "))
	}
	begin.Wait()
	s.fail(err)
}

// start starts the process, in a sandbox if there is one.
func (s *server) start(ctx context.Context) (*shell.Process, error) {
	c := shell.Command{
		Argv: append([]string{s.conf.Command}, s.conf.Args...), Dir: s.root, Env: s.conf.Env,
	}
	if s.hub.opt.Sandbox != nil {
		var err error
		if c.Sandbox, err = s.hub.opt.Sandbox(s.conf); err != nil {
			return nil, err
		}
	}
	s.boxed = c.Sandbox != nil
	return s.hub.opt.Runner.Start(ctx, c)
}

// client returns the process ID for initialize. The server exits when that process exits. In a
// sandbox, client returns nil, because a sandbox has its own process IDs. A server that looks for
// the daemon's ID there would exit immediately.
func (s *server) client() any {
	if s.boxed {
		return nil
	}
	return os.Getpid()
}

// fail records why the server ended. The first reason is kept.
func (s *server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.settle()
}

// settle closes ready once and wakes all waiting goroutines. The caller holds mu.
func (s *server) settle() {
	if !s.settled {
		s.settled = true
		close(s.ready)
	}
	s.wake()
}

// wake notifies all waiting goroutines of a change. The caller holds mu.
func (s *server) wake() {
	close(s.news)
	s.news = make(chan struct{})
}

// await waits until cond, which is called with mu held, returns true. It returns false if ctx or
// the server ends first.
func (s *server) await(ctx context.Context, cond func() bool) bool {
	for {
		s.mu.Lock()
		ok, gone, news := cond(), s.err != nil, s.news
		s.mu.Unlock()
		if ok || gone {
			return ok
		}
		select {
		case <-news:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *server) initialize(ctx context.Context) error {
	ctx, stop := context.WithTimeoutCause(ctx, s.hub.opt.StartTimeout,
		fmt.Errorf("it was not ready within %v", s.hub.opt.StartTimeout))
	defer stop()
	root := string(uri.File(s.root))
	params := map[string]any{
		"processId": s.client(), "clientInfo": map[string]string{"name": "agent-lsp"},
		"rootUri": root, "rootPath": s.root,
		"workspaceFolders": s.folders(), "capabilities": clientCapabilities,
	}
	if s.conf.InitializationOptions != nil {
		params["initializationOptions"] = s.conf.InitializationOptions
	}
	raw, err := s.c.call(ctx, protocol.MethodInitialize, params)
	if err != nil {
		return err
	}
	var result struct{ Capabilities map[string]json.RawMessage }
	if err := json.Unmarshal(raw, &result); err != nil {
		return fmt.Errorf("reading its answer to initialize: %w", err)
	}
	if err := s.c.notify(protocol.MethodInitialized, struct{}{}); err != nil {
		return err
	}
	if s.conf.Settings != nil {
		_ = s.c.notify(protocol.MethodWorkspaceDidChangeConfiguration,
			map[string]any{"settings": s.conf.Settings})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caps = result.Capabilities
	if string(s.caps["positionEncoding"]) == `"utf-8"` {
		s.enc = workspace.UTF8
	}
	s.settle()
	return nil
}

func (s *server) folders() []map[string]string {
	return []map[string]string{{"uri": string(uri.File(s.root)), "name": filepath.Base(s.root)}}
}

// clientCapabilities are the capabilities that the client announces. They do not include dynamic
// registration of diagnostics, so pyright publishes its diagnostics. pyright never answers a
// request for diagnostics that arrives before pyright has loaded. applyEdit is announced for the
// commands of code actions. Other edits are refused.
var clientCapabilities = json.RawMessage(`{
 "general":{"positionEncodings":["utf-8","utf-16"]},
 "window":{"workDoneProgress":true},
 "workspace":{"configuration":true,"workspaceFolders":true,
  "didChangeWatchedFiles":{"dynamicRegistration":true},
  "applyEdit":true,"executeCommand":{},
  "workspaceEdit":{"documentChanges":true,"resourceOperations":["create","rename","delete"]},
  "symbol":{}},
 "textDocument":{"synchronization":{"didSave":true},
  "diagnostic":{"relatedDocumentSupport":true},
  "publishDiagnostics":{"versionSupport":true,"relatedInformation":true},
  "definition":{"linkSupport":true},"implementation":{"linkSupport":true},"references":{},
  "hover":{"contentFormat":["plaintext","markdown"]},
  "documentSymbol":{"hierarchicalDocumentSymbolSupport":true},
  "callHierarchy":{},
  "codeAction":{"codeActionLiteralSupport":{"codeActionKind":{"valueSet":["","quickfix","refactor",
    "refactor.extract","refactor.inline","refactor.rewrite","source","source.organizeImports",
    "source.fixAll"]}},
   "resolveSupport":{"properties":["edit"]},"dataSupport":true,"isPreferredSupport":true,
   "disabledSupport":true},
  "rename":{"prepareSupport":false}}}`)

// handle responds to the server's requests and processes its notifications. It runs on the
// connection's reading goroutine and does not retain the request's bytes.
func (s *server) handle(_ context.Context, req *jsonrpc2.Request) (any, error) {
	params := json.RawMessage(req.Params())
	switch req.Method() {
	case protocol.MethodTextDocumentPublishDiagnostics:
		s.publish(params)
	case protocol.MethodProgress:
		s.progress(params)
	case protocol.MethodWorkspaceConfiguration:
		return s.configuration(params), nil
	case protocol.MethodWorkspaceWorkspaceFolders:
		return s.folders(), nil
	case protocol.MethodWorkspaceApplyEdit:
		return s.applyEdit(params), nil
	case protocol.MethodWindowWorkDoneProgressCreate, protocol.MethodClientRegisterCapability,
		protocol.MethodClientUnregisterCapability, protocol.MethodWindowShowMessageRequest:
	default:
		if req.IsCall() && !strings.HasSuffix(req.Method(), "/refresh") {
			return nil, jsonrpc2.NewError(jsonrpc2.MethodNotFound, "not supported: "+req.Method())
		}
	}
	return nil, nil
}

// configuration answers workspace/configuration from the settings, by dotted section.
func (s *server) configuration(params json.RawMessage) []json.RawMessage {
	var p struct{ Items []struct{ Section string } }
	_ = json.Unmarshal(params, &p)
	out := make([]json.RawMessage, len(p.Items))
	for i, item := range p.Items {
		out[i] = sectionOf(s.conf.Settings, item.Section)
	}
	return out
}

func (s *server) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage
		Value struct{ Kind, Title string }
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.Value.Kind == "begin" && len(s.work) < maxWork:
		s.work[string(p.Token)] = p.Value.Title
	case p.Value.Kind == "end":
		delete(s.work, string(p.Token))
	}
	s.wake()
}

// busy describes what the server is working on, or returns "" if the server is idle. The caller
// holds mu.
func (s *server) busy() string {
	var titles []string
	for _, t := range s.work {
		titles = append(titles, t)
	}
	sort.Strings(titles)
	if len(titles) > 3 {
		titles = titles[:3]
	}
	return strings.Join(titles, ", ")
}

// errNotReady means that a server or the editor did not answer in time. The server may still be
// starting, or be busy.
var errNotReady = errors.New("not ready")

// started waits until the server can answer requests.
func (s *server) started(ctx context.Context) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return fmt.Errorf("%w: %s is still starting; ask again in a moment", errNotReady,
			s.conf.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return fmt.Errorf("the language server %s (%s) has stopped: %w", s.conf.Name, s.root, s.err)
	}
	return nil
}

// offers reports whether the server announced a capability.
func (s *server) offers(capability string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := string(s.caps[capability])
	return v != "" && v != "false" && v != "null"
}

// call sends a request to the server. If the request times out, the error describes what the server
// is doing instead.
func (s *server) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ctx, stop := context.WithTimeout(ctx, s.hub.opt.QueryTimeout)
	defer stop()
	for {
		raw, err := s.c.call(ctx, method, params)
		var answer *jsonrpc2.Error
		switch {
		case errors.As(err, &answer) && askAgain(answer) && pause.For(ctx, againAfter) == nil:
			// The text changed while the server computed the answer, or the server is still
			// preparing to answer.
			continue
		case errors.As(err, &answer):
			return nil, fmt.Errorf("%s refused: %s", s.conf.Name, answer.Message)
		case errors.Is(err, context.DeadlineExceeded):
			return nil, s.late()
		case err != nil:
			return nil, fmt.Errorf("the language server %s failed: %w", s.conf.Name, err)
		}
		return raw, nil
	}
}

func (s *server) late() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if busy := s.busy(); busy != "" {
		return fmt.Errorf("%w: %s is still busy (%s); ask again later", errNotReady, s.conf.Name,
			busy)
	}
	return fmt.Errorf("%w: %s did not answer within %v; it may hang or still be loading. Ask again later, or use grep", errNotReady, s.conf.Name, s.hub.opt.QueryTimeout)
}
