package tools

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/tools/search"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Deps is what the tools depend on. Workspace is required. A tool whose dependencies are nil is not
// offered. The functions may be called concurrently.
type Deps struct {
	Workspace *workspace.Workspace
	Runner    *shell.Runner
	// Jobs holds background commands; nil: New makes one, which Set.Close ends.
	Jobs *Jobs
	// Ask puts a question to the user and waits; ctx ends when the user steers or aborts.
	Ask func(ctx context.Context, call *tool.Call, q Question) (Answer, error)
	// AskHost asks whether a running call may connect to one more host. The error says why not.
	// nil: it may not.
	AskHost func(ctx context.Context, call *tool.Call, host, title string) error
	// SaveDirty ensures that documents are saved before a command runs. It returns the documents
	// that are still unsaved, or why the command must not run. If it is nil, nothing is saved, and
	// the result for the model says so.
	SaveDirty func(ctx context.Context, call *tool.Call, uris []string) (unsaved []string,
		err error)
	// Env is the environment of commands; nil: the daemon's, which then must hold no secret.
	Env func(call *tool.Call) []string
	// Sandbox is the wall around a command; nil or a nil plan: none.
	Sandbox func(call *tool.Call) (*sandbox.Plan, error)
	// Terminal runs a command in the editor's terminal instead, where there is no wall around
	// it; ran false: it did not, and nothing has run. nil: never.
	Terminal func(ctx context.Context, call *tool.Call, cmd shell.Command) (res shell.Result,
		ran bool)
	// Classify says what a command may do; nil: every command is dangerous.
	Classify func(command string) tool.Effect
	// Secret says whether a file is one that asks before it is read; nil: none does.
	Secret func(path string) bool
	// SpillDir holds the whole of outputs that were cut; files below it can be read.
	SpillDir string
	// GlobalIgnore is the user's own git ignore file, "" for none; see search.GlobalIgnore.
	GlobalIgnore string
}

// ShellOptions say how commands run. Zero values are the defaults.
type ShellOptions struct {
	Program    string        // the shell; "": the machine's
	Timeout    time.Duration // of a command that names none
	MaxTimeout time.Duration // the most that a command may ask for
}

// FetchOptions turn the fetch tool on. Zero values are the defaults.
type FetchOptions struct {
	Enabled  bool
	Hosts    []string // globs of the hosts that may be reached; empty: all public ones
	MaxBytes int      // of an answer
	Timeout  time.Duration
	Network  hosts.Lists // which addresses may be reached
}

// Session is what differs between sessions.
type Session struct {
	ID string
	// Owner and OwnerTurn are the session and turn that a sub-agent's proposals and jobs belong to,
	// which are those of the parent. The defaults are ID and the turn of the call.
	Owner, OwnerTurn string
	// Policy is the edit policy as it is now; nil: ask.
	Policy func() workspace.Policy
	// Shell says how commands run now; nil: the defaults.
	Shell func() ShellOptions
	// Fetch says how the fetch tool works now; nil: there is no such tool. It is made in any
	// case: whether it is offered is up to the caller.
	Fetch func() FetchOptions
	// WebSearch says what the web_search tool asks now; as with Fetch.
	WebSearch func() WebSearchOptions
	// Catalog lists all tools of the session that are not sent with every request, including those
	// of other sources. If it is nil, the built-in ones count.
	Catalog func() []tool.Spec
	// Pending returns a function that waits until there may be more in Catalog; nil, or a nil
	// function: no more are about to come.
	Pending func() (wait func(ctx context.Context) bool)
	// More names tools of the session that tool_search finds and that the set does not make.
	More []string
	// Servers names what else brings tools, now or in a while: MCP servers.
	Servers []string
	// Missing says which of these bring nothing now, and why, "" if none; nil: none.
	Missing func() string
}

// Set makes the tools of sessions over one workspace. Safe for concurrent use.
type Set struct {
	d       Deps
	ownJobs bool

	mu      sync.Mutex
	indexes map[string]*search.Index // by root
	closed  bool
}

// New returns the set of tools over d. Close it.
func New(d Deps) *Set {
	s := &Set{d: d, indexes: map[string]*search.Index{}}
	if d.Jobs == nil {
		s.d.Jobs, s.ownJobs = NewJobs(nil), true
	}
	return s
}

// Close ends the jobs, if the set made their holder, and waits for what is under way.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	indexes := s.indexes
	s.indexes = nil
	s.mu.Unlock()
	for _, x := range indexes {
		x.Close()
	}
	if s.ownJobs {
		s.d.Jobs.Close()
	}
}

// For returns a session's tools, sorted as they are sent.
func (s *Set) For(sess Session) []tool.Tool {
	env := &sessionEnv{Deps: &s.d, Session: sess, failures: map[string]int{}}
	tools := []tool.Tool{
		env.readTool(), env.editTool(), env.writeTool(), env.grepTool(), env.globTool(),
		env.patchTool(), env.lsTool(), env.planTool(),
	}
	if s.d.Runner != nil {
		tools = append(tools, env.bashTool(), env.jobTool())
	}
	if s.d.Ask != nil {
		tools = append(tools, env.askTool())
	}
	if sess.Fetch != nil {
		tools = append(tools, env.fetchTool())
	}
	if sess.WebSearch != nil {
		tools = append(tools, env.webSearchTool())
	}
	env.own = deferred(tools)
	return append(tools, env.toolSearchTool())
}

func deferred(tools []tool.Tool) (specs []tool.Spec) {
	for _, t := range tools {
		if spec := t.Spec(); spec.Deferred {
			specs = append(specs, spec)
		}
	}
	return specs
}

// sessionEnv is what the tools of one session share.
type sessionEnv struct {
	*Deps
	Session
	own []tool.Spec // deferred built-in tools

	mu sync.Mutex
	// edits that did not match since the last read or success, by file
	failures map[string]int
	watches  map[string]*workspace.Command // of running jobs, by id
}

// owner is the session that proposals and jobs belong to.
func (e *sessionEnv) owner() string {
	if e.Owner != "" {
		return e.Owner
	}
	return e.ID
}

func (e *sessionEnv) policy() workspace.Policy {
	if e.Policy == nil {
		return workspace.Ask
	}
	return e.Policy()
}

// walkOptions are those of all searches below the roots.
func (e *sessionEnv) walkOptions(hidden, all bool) search.Options {
	return search.Options{Hidden: hidden || all, All: all, Global: e.GlobalIgnore}
}

// shown is how a path is written for the model: relative to the session's folder if it is below
// that folder, with slashes.
func (e *sessionEnv) shown(call *tool.Call, path string) string {
	cwd, err := e.Workspace.Cwd(call.Cwd)
	if err != nil || cwd == "" {
		return path
	}
	rel, err := filepath.Rel(cwd, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

// unsaved lists the paths of open documents that differ from their files, and a way to
// their text.
func (e *sessionEnv) unsaved() ([]string, func(string) ([]byte, bool)) {
	texts := map[string][]byte{}
	var paths []string
	for _, d := range e.Workspace.Documents() {
		if d.Dirty && d.Ref.IsFile() {
			p := filepath.ToSlash(d.Ref.Path)
			texts[p] = d.Text
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths, func(p string) ([]byte, bool) {
		text, ok := texts[p]
		return text, ok
	}
}
