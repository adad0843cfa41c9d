package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/adrg/xdg"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/memory"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/keylock"
	"github.com/agent-lsp/agent-lsp/internal/login"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
	"github.com/agent-lsp/agent-lsp/internal/policy/proxy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/project"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
	"github.com/agent-lsp/agent-lsp/internal/tools/search"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// daemon contains the components that serve one connection.
type daemon struct {
	log       *slog.Logger
	redact    *policy.Redactor
	folders   *folders
	editor    host.Editor
	host      *host.Host
	settings  *settings
	notices   *notices
	sessions  *liveSessions
	questions *questions
	plans     *planApprovals
	processes *processRunner
	language  *languageServers
	mcp       *mcpServers
	cleanup   *cleanup
	workspace *workspace.Workspace
	policy    *policy.Engine
	providers *providers
	tools     *tools.Set
	project   *project.Project
	shared    shared
}

// shared contains the parts of the engine that all sessions of a connection share.
type shared struct {
	locks     *keylock.Locks
	starts    *agent.Starts
	wide      wideFolders
	jobs      *tools.Jobs
	scratch   *sandbox.Scratch // temporary folders of the sessions' commands
	proxy     *proxy.Proxy
	memory    *memory.Store
	subagents *subagent.Tool
	titles    *titles
	calm      *calm
	wrapChild func(agent.Options, subagent.Spawn) agent.Options // nil means no change
}

// coreOptions are the inputs for building a connection.
type coreOptions struct {
	log *slog.Logger
	// The log uses the same redactor, so that a key that apiKeyCommand prints is also removed from
	// the log.
	redact     *policy.Redactor
	env        []string
	scriptFile string
	stateDir   string
	whole      bool         // whether the whole home folder may be the workspace
	terminal   acp.Terminal // nil if the editor provides no terminals
	// starts is shared by all connections; nil means that turns start without a limit.
	starts *agent.Starts
	// wrapChild changes the engine's options for a sub-agent's session. If wrapChild is nil, the
	// options stay as they are.
	wrapChild func(agent.Options, subagent.Spawn) agent.Options
}

// newCore builds the components that handle requests when initialize arrives. It opens only the
// files that are needed immediately.
func newCore(init agentapi.Init, o coreOptions) (*agentapi.Core, error) {
	warn := newNotices(o.log, o.redact, init.Editor.Notice)
	d := &daemon{
		log: o.log, redact: o.redact, editor: init.Editor, notices: warn, plans: newPlanApprovals(),
		sessions: newLiveSessions(), folders: openFolders(init, o, warn),
		shared: shared{
			locks: new(keylock.Locks), starts: o.starts, wide: newWideFolders(),
			wrapChild: o.wrapChild,
		},
	}
	d.settings = loadSettings(d.folders, o.env, init, warn)
	d.settings.changed = func() {
		if d.host != nil { // without a host, no session has used the old settings
			d.host.Reconfigured()
		}
	}
	for _, n := range d.settings.live.Set().Notices() {
		d.log.Warn(d.redact.Text(n.String())) // each session also shows the notice to its user
	}
	if err := d.build(init, o); err != nil {
		return nil, errors.Join(err, d.folders.dropOwn())
	}
	return d.core(), nil
}

// openFolders determines the folders of a connection. If the user's state directory is not
// writable, it creates a temporary one for this run and warns the user.
func openFolders(init agentapi.Init, o coreOptions, warn *notices) *folders {
	f := &folders{state: firstOf(o.stateDir, StateDir(o.env))}
	f.sessions = f.state
	if dir, why := writableState(f.state); why != nil {
		warn.send("warning", fmt.Sprintf("%s cannot be written (%v): "+
			"this run stores its data in %s and deletes the data at exit", f.state, why, dir))
		f.state, f.own = dir, dir
	}
	if len(init.Roots) > 0 {
		f.root, _ = workspace.PathOfURI(init.Roots[0])
	}
	return f
}

// build creates the components in the order of their dependencies.
func (d *daemon) build(init agentapi.Init, o coreOptions) error {
	runner, err := shell.New(shell.Options{
		SpillDir: d.folders.file("spill"), Redact: d.redact.Writer,
	})
	if err != nil {
		return err
	}
	get := d.settings.current
	d.processes = &processRunner{
		env: o.env, root: d.folders.root, roots: d.rootPaths,
		config: get, runner: runner, redact: d.redact, workspaces: d.settings.claimsKeyCommand,
	}
	keys := login.Open(d.folders.sessions, func(name string) string { return Lookup(o.env, name) })
	resolver := &config.Resolver{
		Env: config.Lookup(o.env), Run: d.processes.runKeyCommand,
		Stored: storedKeys(keys, d.redact),
		Secret: func(key string) { d.redact.Add(key) },
	}
	if d.providers, err = newProviders(resolver, o.scriptFile, CacheDir(o.env)); err != nil {
		return err
	}
	d.providers.catalog.log = o.log
	d.questions = &questions{
		Questions: host.NewQuestions(), sessions: d.sessions, notices: d.notices,
	}
	d.providers.local = d.newLocalServers()
	d.openWorkspace(init)
	d.allowFolders(o.whole, init)
	CleanPath(d.rootPaths()...)
	d.openPolicy()
	d.openTools(o.terminal)
	d.mcp = &mcpServers{
		env: o.env, inherited: d.processes.scrubbed,
		root: d.folders.root, config: get,
	}
	d.mcp.hub = mcp.New(mcp.Options{
		Runner: runner, Roots: d.rootURIs, Notice: d.notices.send, Elicit: d.questions.elicit,
		Changed: d.weighServers,
	})
	d.shared.memory, d.project = d.openMemory(), d.openProject(d.rootIsHeld)
	d.shared.subagents = d.newSubagents()
	d.cleanup = &cleanup{
		log: d.log, folders: d.folders, workspace: d.workspace,
		library: d.openLibrary(), later: d.mcp.hub.Later, closing: make(chan struct{}),
	}
	d.host = host.New(host.Options{
		Workspace: d.workspace, Library: d.cleanup.library, Settings: d.settings.live,
		Questions: d.questions.Questions, Prepare: d.prepare, Closed: d.closed,
		Configured: d.configured,
	})
	d.shared.titles = newTitles(d)
	d.host.Clients().Watch(d.shared.titles.watch)
	d.shared.calm = newCalm(debug.FreeOSMemory, heapAllocated)
	d.host.Clients().Watch(d.shared.calm.watch)
	return nil
}

// openWorkspace creates the workspace and the language servers that check its edits.
func (d *daemon) openWorkspace(init agentapi.Init) {
	cwd, _ := os.Getwd()
	d.language = &languageServers{
		editor: d.editor, config: d.settings.config, processes: d.processes, secret: d.secret,
		withheld: func(session, tool, named, path string) bool {
			return d.policy.Withholds(session, tool, named, path)
		},
		trust: newServerTrust(d.settings.trust, func() *policy.Engine { return d.policy }),
	}
	d.language.trust.plan = d.languagePlan
	d.workspace = workspace.New(workspace.Options{
		Client: init.Editor, StateDir: d.folders.file("workspace"), WorkingDir: cwd,
		Home:       homeFolder(d.processes.env),
		OnProposal: func(e workspace.ProposalEvent) { d.host.ProposalChanged(e) },
		OnNotice:   init.Editor.Notice, Format: d.processes.format, Before: d.language.beforeEdit,
		OnDisk: d.language.filesChanged, Check: d.language.afterEdit,
		Look: init.Editor.Open, AskReload: d.questions.askReload,
	})
	d.language.open(d.workspace)
}

func (d *daemon) openLibrary() *session.Library {
	cwd, _ := os.Getwd()
	root := firstOf(d.folders.root, cwd)
	return session.OpenWith(session.Dir(d.folders.sessions, root), session.Options{
		Redact: d.redact.Bytes, PendingProposal: d.workspace.StoredPending, Log: d.log,
		Cwd: root, Spare: session.Dir(d.folders.state, root),
	})
}

// openPolicy creates the policy, even if the stored grants cannot be read.
func (d *daemon) openPolicy() {
	var err error
	d.policy, err = policy.NewEngine(policy.Options{
		Asker: hookedAsker{d.sessions, d.questions},
		Store: policy.NewFileStore(d.folders.file("grants.json")), Redactor: d.redact,
	})
	if err != nil {
		d.notices.send("warning", err.Error())
	}
}

func (d *daemon) openTools(terminal acp.Terminal) {
	d.shared.jobs = tools.NewJobs(d.jobEnded)
	d.shared.scratch = sandbox.NewScratch(d.folders.file("scratch"))
	d.shared.proxy = proxy.New(proxy.Options{
		Socket: d.shared.scratch.Socket, Log: d.log, Lookup: hosts.Lookup,
	})
	unsaved := &tools.SaveQuestions{
		Save: d.editor.Save, Ask: d.questions.ask, Owner: d.sessions.owner,
		Workspace: d.workspace,
	}
	d.tools = tools.New(tools.Deps{
		Workspace: d.workspace, Runner: d.processes.runner, Jobs: d.shared.jobs,
		Ask: d.questions.ask, SaveDirty: unsaved.SaveDirty,
		Terminal: inTerminal(terminal, d.shortListed),
		AskHost:  d.askHost, Env: d.commandEnv,
		Sandbox: d.sandboxPlan, Classify: classify, Secret: d.secret,
		SecretNames: policy.SecretNames, Withheld: d.policy.Withholds,
		SpillDir: d.folders.file("spill"), GlobalIgnore: search.GlobalIgnore(),
	})
}

// secret reports whether the user must be asked before a file is read.
func (d *daemon) secret(path string) bool {
	return policy.SecretIn(d.workspace.Roots(""), path)
}

// jobsOf returns the background jobs in the form that the client and the sub-agents use.
func (d *daemon) jobsOf() jobs {
	return jobs{d.shared.jobs, d.sessions, d.folders, d.redact}
}

// core assembles the server's dependencies.
func (d *daemon) core() *agentapi.Core {
	return &agentapi.Core{
		ViewDir:   d.folders.file("views"),
		Host:      d.host,
		Workspace: d.workspace, Library: d.cleanup.library, Settings: d.settings.live,
		Ready: d.ready, FoldersChanged: d.mcp.hub.RootsChanged,
		Secrets: secretFiles{d},
		Models:  d.listModels,
		TestModel: func(ctx context.Context, ref string) wire.ModelTest {
			t := d.providers.test(ctx, d.settings.config(), ref)
			t.Error = d.redact.Text(t.Error)
			return t
		},
		Tools:    d.listTools,
		Commands: d.listCommands, Expand: d.expand,
		Status: func() (wire.ProviderStatus, string) {
			return d.providers.status(d.settings.config()), d.policy.Describe("")
		},
		Files:  d.searchFiles,
		Memory: memories{d.shared.memory}, Grants: grants{d.policy}, Jobs: d.jobsOf(),
		Agents: agents{d.shared.subagents},
		Close:  d.close,
	}
}

// close ends all components of the connection. If ctx ends first, close returns an error.
func (d *daemon) close(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.shared.calm.close()
		d.shared.titles.close()
		d.cleanup.close()
		d.mcp.hub.Close()
		d.language.hub.Close()
		d.shared.jobs.Close()
		d.tools.Close()
		d.processes.runner.Close()
		d.shared.proxy.Close()
		d.workspace.Close()
		d.providers.Close()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("shutting down: %w", context.Cause(ctx))
	}
	err := errors.Join(d.policy.Flush(), d.shared.memory.Close(), d.cleanup.library.Close())
	return errors.Join(err, d.shared.scratch.Close(), d.folders.dropOwn())
}

// jobEnded notifies a session that one of its background jobs has ended.
func (d *daemon) jobEnded(j tools.Job, text string) {
	parts := d.sessions.get(j.SessionID)
	if parts == nil {
		return
	}
	m := message.NewText(message.RoleUser, text)
	m.Source, m.Author = message.SourceJob, "job"
	parts.info.Notify(m, true)
}

// StateDir returns the folder in which the daemon stores its state.
func StateDir(env []string) string {
	if dir := Lookup(env, "AGENT_LSP_STATE_DIR"); dir != "" {
		return dir
	}
	if dir := Lookup(env, "XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "agent-lsp")
	}
	return filepath.Join(xdg.StateHome, "agent-lsp")
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
