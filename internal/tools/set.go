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

// Deps contains what the tools depend on. Workspace is required. A tool whose dependencies are nil
// is not offered. The functions may be called concurrently.
type Deps struct {
	Workspace *workspace.Workspace
	Runner    *shell.Runner
	// Jobs contains the background commands. If it is nil, New creates a Jobs, which Set.Close
	// closes.
	Jobs *Jobs
	// Ask asks the user a question and waits. ctx ends when the user steers or aborts.
	Ask func(ctx context.Context, call *tool.Call, q Question) (Answer, error)
	// AskHost asks whether a running call may connect to another host. A non-nil error is the
	// reason why it may not. If AskHost is nil, the call may not connect.
	AskHost func(ctx context.Context, call *tool.Call, host, title string) error
	// SaveDirty ensures that documents are saved before a command runs. It returns the documents
	// that are still unsaved, or an error if the command must not run. If SaveDirty is nil, nothing
	// is saved, and the result for the model says so.
	SaveDirty func(ctx context.Context, call *tool.Call, uris []string) (unsaved []string,
		err error)
	// Env returns the environment of commands. If Env is nil, commands get the daemon's
	// environment, which then must not contain a secret.
	Env func(call *tool.Call) []string
	// Sandbox returns the sandbox of a command. If Sandbox or the plan is nil, there is no sandbox.
	Sandbox func(call *tool.Call) (*sandbox.Plan, error)
	// Terminal runs a command in the editor's terminal instead, where there is no sandbox. If ran
	// is false, nothing was run. If Terminal is nil, the editor's terminal is never used.
	Terminal func(ctx context.Context, call *tool.Call, cmd shell.Command) (res shell.Result,
		ran bool)
	// Classify returns the possible effect of a command. If Classify is nil, every command is
	// dangerous.
	Classify func(command string) tool.Effect
	// Secret reports whether reading a file needs the user's permission. If Secret is nil, no file
	// needs it.
	Secret func(path string) bool
	// Withheld reports whether a session's call of a tool must leave out a file that it found,
	// because of a rule that does not apply to the file or folder that the call names. If it is
	// nil, there are no rules.
	Withheld func(session, tool, named, path string) bool
	// SecretNames returns a function that reports whether a file in a folder is secret because of
	// its name. Searches skip these files. If it is nil, searches skip no file.
	SecretNames func(folder string) func(name string) bool
	// SpillDir is the folder for the complete text of outputs that were truncated. Each session of
	// the user has a folder in it. The tools of the session and of its sub-agents may read the
	// files in that folder.
	SpillDir string
	// GlobalIgnore is the path of the user's own git ignore file, or "" if there is none. See
	// search.GlobalIgnore.
	GlobalIgnore string
}

// ShellOptions configure how commands run. Zero values are the defaults.
type ShellOptions struct {
	Program    string        // the shell; "" is the default shell of the machine
	Timeout    time.Duration // timeout of a command that does not set one
	MaxTimeout time.Duration // the maximum timeout that a command may set
}

// FetchOptions enable the fetch tool. Zero values are the defaults.
type FetchOptions struct {
	Enabled  bool
	Hosts    []string // globs for the hosts that may be reached; empty: all public ones
	MaxBytes int      // maximum size of a response
	Timeout  time.Duration
	Network  hosts.Lists // addresses that may be reached
}

// Session contains what differs between sessions.
type Session struct {
	ID string
	// For a sub-agent, Owner and OwnerTurn are the session and turn of its parent, which own the
	// sub-agent's proposals and jobs. The defaults are ID and the turn of the call.
	Owner, OwnerTurn string
	// Forked returns the sessions from which this session was forked. Its history names their
	// stored outputs. It may be nil.
	Forked func() []string
	// Policy returns the current edit policy. If Policy is nil, the policy is ask.
	Policy func() workspace.Policy
	// Shell returns the current options for commands. If Shell is nil, the defaults apply.
	Shell func() ShellOptions
	// Fetch returns the current options of the fetch tool. If Fetch is nil, there is no fetch tool.
	// Otherwise, the tool is always created, and the caller decides whether to offer it.
	Fetch func() FetchOptions
	// WebSearch returns the current options of the web_search tool. It works like Fetch.
	WebSearch func() WebSearchOptions
	// Catalog lists all tools of the session that are not sent with every request, including those
	// from other sources. If Catalog is nil, the catalog contains the built-in tools.
	Catalog func() []tool.Spec
	// Pending returns a function that waits until there may be more tools in Catalog. If Pending is
	// nil or returns nil, no more tools are expected.
	Pending func() (wait func(ctx context.Context) bool)
	// More lists names of tools of the session that tool_search finds but the set does not create.
	More []string
	// Servers lists the names of the MCP servers, which provide tools now or will do so later.
	Servers []string
	// Missing names the servers that currently provide no tools and says why, or returns "" if
	// there are none. It may be nil.
	Missing func() string
}

// Set creates the tools of sessions that share a workspace. It is safe for concurrent use.
type Set struct {
	d       Deps
	ownJobs bool

	mu      sync.Mutex
	indexes map[string]*search.Index // by root
	closed  bool
}

// New returns the set of tools with the dependencies d. The caller must close it.
func New(d Deps) *Set {
	s := &Set{d: d, indexes: map[string]*search.Index{}}
	if d.Jobs == nil {
		s.d.Jobs, s.ownJobs = NewJobs(nil), true
	}
	return s
}

// Close stops the jobs if New created the Jobs, and waits for running work.
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

// For returns a session's tools in the order in which they are sent.
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

// sessionEnv is the state that the tools of one session share.
type sessionEnv struct {
	*Deps
	Session
	own []tool.Spec // deferred built-in tools

	mu sync.Mutex
	// failures counts the edits that did not match since the last read or success, by file.
	failures map[string]int
	watches  map[string]*workspace.Command // recorders of the file changes of jobs, by job id
}

// owner returns the session that owns proposals and jobs.
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

// walkOptions returns the options of all searches below the roots.
func (e *sessionEnv) walkOptions(hidden, all bool) search.Options {
	return search.Options{Hidden: hidden || all, All: all, Global: e.GlobalIgnore}
}

// shown returns the form in which a path is shown to the model: with slashes, and relative to the
// session's folder if the path is below that folder.
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

// unsaved returns the paths of open documents that differ from their files, and a function that
// returns their text.
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
