package langserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver/codefiles"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// ErrNotOffered is returned by Options.Query if the editor does not answer such questions. One of
// the daemon's own servers is then asked.
var ErrNotOffered = errors.New("the editor does not support this request")

// QueryTimeout limits one question to an editor or a server.
const QueryTimeout = 20 * time.Second

// Options configures a Hub. Workspace and Runner are required.
type Options struct {
	Workspace *workspace.Workspace
	Runner    *shell.Runner
	// Query asks the editor's own servers. It is nil if the editor does not support such questions.
	Query func(ctx context.Context, q Question) (json.RawMessage, error)
	// Servers lists the servers that may be started. Those from the settings come first. It is
	// called at each use.
	Servers func() []Config
	// Allow returns nil if a server may run, and otherwise the reason why it may not. It is called
	// before each use, because the code that a server runs can change. If it is nil, every server
	// may run.
	Allow func(ctx context.Context, start Start) error
	// Sandbox returns the sandbox of a server, or nil if the server runs without one. If Sandbox is
	// nil, no server has a sandbox.
	Sandbox func(c Config) (*sandbox.Plan, error)
	// Secret reports whether a file must not be shown unless the user allows it. If Secret is nil,
	// no file is secret.
	Secret func(path string) bool
	// Withheld reports whether a session's call of a tool must not show a file, because of a rule
	// that does not apply to the file that the call names. If Withheld is nil, there are no rules.
	Withheld func(session, tool, named, path string) bool
	// AfterEdit returns whether to check diagnostics after an edit, and the maximum time to wait.
	// It is called at each edit.
	AfterEdit func() (on bool, wait time.Duration)

	StartTimeout time.Duration // 0: StartTimeout
	QueryTimeout time.Duration // 0: QueryTimeout
	flood        int           // 0: floodCount
	sparing      time.Duration // 0: sparing
	quiet        time.Duration // 0: quiet
	word         time.Duration // how long a question waits for diagnostics; 0: diagnosticsWait
}

// Question is a question to an editor (agent/editor/query).
type Question struct {
	Operation string
	URI       string
	Position  *workspace.Position // position in the workspace's encoding
	Query     string
	Settle    *Settle // set when asking for diagnostics
}

// Settle asks an editor to wait until its servers have processed the current text of documents.
type Settle struct {
	URIs    []string
	Timeout time.Duration // 0: do not wait
}

// Start describes a server that is about to run, or a running server that is about to be asked.
type Start struct {
	Server Config
	Top    string // the workspace folder
	Code   codefiles.Code
	Call   *tool.Call // the call that needs the server; nil: the user cannot be asked now
}

// Propose shows changes for review, as the edit tools do.
type Propose func(ctx context.Context, call *tool.Call, title string,
	changes []workspace.Change) (*tool.Result, error)

// Hub manages the language servers of one workspace. It is safe for concurrent use.
type Hub struct {
	opt    Options
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	servers map[string]*server // servers by name and root
	clock   uint64
	code    *codefiles.Finder
}

// New returns a Hub. It does not start a server. The caller must close the Hub.
func New(opt Options) *Hub {
	if opt.StartTimeout == 0 {
		opt.StartTimeout = StartTimeout
	}
	if opt.QueryTimeout == 0 {
		opt.QueryTimeout = QueryTimeout
	}
	if opt.flood == 0 {
		opt.flood = floodCount
	}
	if opt.sparing == 0 {
		opt.sparing = sparing
	}
	if opt.quiet == 0 {
		opt.quiet = quiet
	}
	if opt.word == 0 {
		opt.word = diagnosticsWait
	}
	if opt.Servers == nil {
		opt.Servers = func() []Config { return nil }
	}
	h := &Hub{opt: opt, servers: map[string]*server{}, code: codefiles.New()}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Close stops all servers and waits until they have exited.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.wg.Wait()
}

func (h *Hub) tick() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

// configFor returns the configuration of the server for a file's language. The error is for the
// model.
func (h *Hub) configFor(path string) (Config, error) {
	ext := strings.ToLower(filepath.Ext(path))
	var missing []string
	for _, c := range h.opt.Servers() {
		switch {
		case c.Languages[ext] == "":
		case c.Disabled:
			missing = append(missing, c.Name+" is disabled in the settings")
		case !onPath(c.Command, c.Env):
			missing = append(missing, c.Command+" is not installed")
		default:
			return c, nil
		}
	}
	if len(missing) == 0 {
		return Config{}, fmt.Errorf(
			"no data: no language server is known for %q files; use grep and read, or name one in the setting languageServers",
			ext,
		)
	}
	return Config{}, fmt.Errorf(
		"no data: there is no language server for %q files: %s; use grep and read",
		ext,
		strings.Join(missing, ", "),
	)
}

// serverFor returns the server for a file. It starts the server if necessary, provided that start
// is true or the user's settings name the server. If the server does not run and may not be
// started, the result is nil without an error.
func (h *Hub) serverFor(ctx context.Context, path string, start bool) (*server, error) {
	c, err := h.configFor(path)
	if err != nil {
		return nil, err
	}
	top, ok := h.topOf(path)
	if !ok {
		return nil, fmt.Errorf(
			"%s is outside the workspace folders; no language server is started there",
			path,
		)
	}
	root := c.rootFor(path, top)
	if err := h.allow(ctx, c, root, top, filepath.Dir(path)); err != nil {
		return nil, err
	}
	return h.server(c, root, start || c.Asked)
}

// allow returns nil if a server may run for the files in a folder. It stops a running server that
// is no longer allowed.
func (h *Hub) allow(ctx context.Context, c Config, root, top, folder string) error {
	if h.opt.Allow == nil {
		return nil
	}
	s := Start{Server: c, Top: top, Call: callOf(ctx)}
	s.Code = h.code.Code(top, folder, c.Command)
	err := h.opt.Allow(ctx, s)
	if err == nil {
		return nil
	}
	h.mu.Lock()
	running := h.servers[c.Name+"\x00"+root]
	h.mu.Unlock()
	if running != nil {
		running.cancel()
	}
	return fmt.Errorf("no data: %s does not run: %w; use grep and read", c.Name, err)
}

// topOf returns the workspace folder that contains a path. If there are no workspace folders, it
// returns the folder of the file.
func (h *Hub) topOf(path string) (string, bool) {
	best := ""
	for _, r := range h.opt.Workspace.Roots("") {
		if within(r, path) && len(r) > len(best) {
			best = r
		}
	}
	if best == "" && len(h.opt.Workspace.Roots("")) == 0 {
		return filepath.Dir(path), true
	}
	return best, best != ""
}

func (h *Hub) server(c Config, root string, start bool) (*server, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := c.Name + "\x00" + root
	s := h.servers[key]
	starts := 0
	if s != nil {
		s.mu.Lock()
		err := s.err
		s.mu.Unlock()
		switch {
		case !s.conf.same(&c):
			s.cancel()
		case err == nil:
			return s, nil
		case s.starts >= maxStarts:
			return nil, fmt.Errorf(
				"the language server %s (%s) failed %d times and is not started again: %w; use grep and read",
				c.Name,
				root,
				s.starts,
				err,
			)
		default:
			starts = s.starts
		}
	}
	if !start {
		return nil, nil
	}
	if h.closed {
		return nil, errors.New("the daemon is shutting down")
	}
	s = &server{
		hub: h, conf: c, root: root, starts: starts + 1, ready: make(chan struct{}),
		open: openDocuments{docs: map[string]*document{}},
		problems: problems{
			diags: map[string]*published{}, pulled: map[string]*published{},
		},
		work: map[string]string{}, news: make(chan struct{}),
	}
	s.c = newConn(s.handle, h.opt.flood)
	ctx, cancel := context.WithCancel(h.ctx)
	s.cancel = cancel
	h.servers[key] = s
	h.wg.Go(func() { defer cancel(); s.run(ctx) })
	return s, nil
}

// running lists the running servers by name and root.
func (h *Hub) running() []*server {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*server
	for _, s := range h.servers {
		s.mu.Lock()
		if s.err == nil {
			out = append(out, s)
		}
		s.mu.Unlock()
	}
	slices.SortFunc(
		out,
		func(a, b *server) int { return strings.Compare(a.conf.Name+a.root, b.conf.Name+b.root) },
	)
	return out
}

// forRoots starts the servers whose root markers are in the workspace folders, and returns all
// running servers. The error names the servers that may not run.
func (h *Hub) forRoots(ctx context.Context) ([]*server, error) {
	var denied error
	for _, root := range h.opt.Workspace.Roots("") {
		for _, c := range h.opt.Servers() {
			marked := slices.ContainsFunc(
				c.RootMarkers,
				func(m string) bool { return exists(filepath.Join(root, m)) },
			)
			if !marked || c.Disabled || !onPath(c.Command, c.Env) {
				continue
			}
			if err := h.allow(ctx, c, root, root, root); err != nil {
				denied = errors.Join(denied, err)
				continue
			}
			_, _ = h.server(c, root, true)
		}
	}
	return h.running(), denied
}
