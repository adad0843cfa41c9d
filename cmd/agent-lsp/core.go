package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adrg/xdg"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/memory"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/project"
	"github.com/agent-lsp/agent-lsp/internal/rpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/settings"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
	"github.com/agent-lsp/agent-lsp/internal/tools/search"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// daemon is what serves one connection: the parts, and how they are tied together.
type daemon struct {
	log      *slog.Logger
	env      []string
	stateDir string
	// sessionsIn is the state directory whose sessions are listed: the user's own, also where stateDir had to be another.
	sessionsIn string
	ownState   string // a folder for this run alone, which goes with it; "": none was needed
	root       string // the first workspace folder, "" without one

	peer      *rpc.Peer
	settings  *settings.Live
	trust     *settings.TrustFile
	redact    *policy.Redactor
	library   *session.Library
	workspace *workspace.Workspace
	runner    *shell.Runner
	policy    *policy.Engine
	providers *providers
	jobs      *tools.Jobs
	tools     *tools.Set
	mcp       *mcp.Hub
	language  *langserver.Hub
	subagents *subagent.Tool
	memory    *memory.Store
	project   *project.Project
	locks     *agent.Locks
	starts    *agent.Starts
	unsaved   saveQuestions

	background sync.WaitGroup
	closing    chan struct{} // closed when close begins: what waits for a quiet moment in background does not come any more
	trusting   trusting
	serving    sync.Mutex            // one change of the MCP servers at a time; guards mcpLists
	mcpLists   []map[string]wire.MCP // what was last asked for, by whom there was
	mcpDue     atomic.Bool           // sessions have come since

	mu       sync.Mutex
	sessions map[string]*sessionParts
	greeted  bool
	told     map[string]bool
	early    [][2]string
	approved map[string]string   // sessions whose plan the user approved, with the mode's setting then
	kept     *wire.Config        // by which sessions and checkpoints were last removed
	mcpDefs  map[string]wire.MCP // the MCP servers that run
}

// coreOptions is what a connection is built of.
type coreOptions struct {
	log        *slog.Logger
	redact     *policy.Redactor // of the log too, so that both know a key that a command prints
	env        []string
	scriptFile string
	stateDir   string
	terminal   acp.Terminal  // nil: there are none
	starts     *agent.Starts // of all connections' sessions; nil: they start whenever they may
}

// newCore builds what answers, when initialize comes. It opens no file that it does not need at once.
func newCore(init rpc.Init, o coreOptions) (*rpc.Core, error) {
	d := &daemon{log: o.log, env: o.env, stateDir: o.stateDir, peer: init.Peer, sessions: map[string]*sessionParts{},
		redact: o.redact, locks: new(agent.Locks), starts: o.starts, approved: map[string]string{}, told: map[string]bool{}, closing: make(chan struct{})}
	if d.stateDir == "" {
		d.stateDir = stateDir(o.env)
	}
	d.sessionsIn = d.stateDir
	if dir, why := writableState(d.stateDir); why != nil {
		d.notice("warning", fmt.Sprintf("%s cannot be written (%v): until it ends, what this run keeps is in %s", d.stateDir, why, dir))
		d.stateDir, d.ownState = dir, dir
	}
	if len(init.Roots) > 0 {
		d.root, _ = workspace.PathOfURI(init.Roots[0])
	}
	d.trust = settings.NewTrustFile(filepath.Join(d.stateDir, "trust.json"))
	d.settings = d.loadSettings(init)
	if err := d.build(init, o); err != nil {
		return nil, errors.Join(err, d.dropOwnState())
	}
	return d.core(), nil
}

// loadSettings reads the layers that are there before a session has its own.
func (d *daemon) loadSettings(init rpc.Init) *settings.Live {
	trusted, _ := d.trust.Trusts(d.root)
	live := settings.NewLive(settings.Sources{UserFile: userFile(d.env), Root: d.root, Environ: d.env, Trusted: trusted && d.root != ""}, init.InitializationOptions)
	for _, n := range live.Set().Notices() {
		d.log.Warn(d.redact.Text(n.String())) // each session tells its user
	}
	return live
}

// build makes the parts.
func (d *daemon) build(init rpc.Init, o coreOptions) (err error) {
	cwd, _ := os.Getwd()
	home := lookup(d.env, "HOME")
	d.workspace = workspace.New(workspace.Options{
		Client: init.Peer, StateDir: filepath.Join(d.stateDir, "workspace"), WorkingDir: cwd, Home: home,
		OnProposal: init.Peer.ProposalChanged, OnNotice: init.Peer.Notice, Format: d.format, Before: d.beforeEdit, OnDisk: d.filesChanged, Check: d.afterEdit,
		Look: init.Peer.EditorOpen, AskReload: init.Peer.AskReload,
	})
	d.library = session.OpenWith(session.Dir(d.sessionsIn, firstOf(d.root, cwd)), session.Options{
		Redact: d.redact.Bytes, PendingProposal: d.workspace.StoredPending, Log: d.log, ImportConfig: settings.Harmless,
		Spare: session.Dir(d.stateDir, firstOf(d.root, cwd)),
	})
	if d.runner, err = shell.New(shell.Options{SpillDir: filepath.Join(d.stateDir, "spill")}); err != nil {
		return err
	}
	resolver := &settings.Resolver{Env: settings.Lookup(d.env), Run: d.runKeyCommand}
	if d.providers, err = newProviders(resolver, o.scriptFile); err != nil {
		return err
	}
	if d.policy, err = policy.NewEngine(policy.Options{Asker: hookedAsker{d, asker{d}}, Store: policy.NewFileStore(filepath.Join(d.stateDir, "grants.json"))}); err != nil {
		d.notice("warning", err.Error())
	}
	d.jobs = tools.NewJobs(d.jobEnded)
	d.tools = tools.New(tools.Deps{
		Workspace: d.workspace, Runner: d.runner, Jobs: d.jobs, Ask: d.ask, SaveDirty: d.saveDirty, Env: d.commandEnv, Terminal: inTerminal(o.terminal),
		Sandbox: d.sandboxPlan, Classify: classify, Secret: policy.Secret, SpillDir: filepath.Join(d.stateDir, "spill"), GlobalIgnore: search.GlobalIgnore(),
	})
	d.language = d.openLanguage()
	d.mcp = mcp.New(mcp.Options{Runner: d.runner, Roots: d.rootURIs, Notice: d.notice, Elicit: d.elicit, Changed: d.weighServers})
	d.memory = d.openMemory()
	d.project = d.openProject()
	d.subagents = d.newSubagents()
	return nil
}

// core hands the parts to the server.
func (d *daemon) core() *rpc.Core {
	return &rpc.Core{
		ViewDir:   filepath.Join(d.stateDir, "views"),
		Workspace: d.workspace, Library: d.library, Settings: d.settings, Prepare: d.prepare, Ready: d.ready, Closed: d.closed, FoldersChanged: d.mcp.RootsChanged,
		Models:   func(ctx context.Context) ([]wire.Model, error) { return d.providers.list(ctx, d.config()) },
		Tools:    d.listTools,
		Commands: d.listCommands, Expand: d.expand,
		Status: func() (wire.ProviderStatus, string) { return d.providers.status(d.config()), d.policy.Describe("") },
		Files:  d.searchFiles,
		Memory: memories{d.memory}, Grants: grants{d.policy}, Jobs: jobs{d}, Agents: agents{d.subagents},
		Close: d.close,
	}
}

// config is the configuration without a session's own.
func (d *daemon) config() *wire.Config { return d.settings.Set().Config() }

// retention is 0 for what is kept for ever.
func retention(r *wire.Retention) (age time.Duration, size int64) {
	if r != nil && r.MaxAgeDays != nil {
		age = time.Duration(*r.MaxAgeDays) * 24 * time.Hour
	}
	if r != nil && r.MaxBytes != nil {
		size = *r.MaxBytes
	}
	return age, size
}

// sweep removes sessions and checkpoints that are older or larger than the settings allow, beside what the daemon
// does: with the first model call, and when the settings were read anew. A daemon that is not used removes nothing.
func (d *daemon) sweep() {
	c := d.config()
	d.mu.Lock()
	same, first := d.kept == c, d.kept == nil // each model call asks
	d.kept = c
	d.mu.Unlock()
	if same {
		return
	}
	age, size := retention(c.Checkpoints)
	d.workspace.KeepCheckpoints(workspace.Retention{MaxAge: age, MaxBytes: size})
	r := session.Retention{Keep: d.library.InUse()} // also when the run ends before it is their turn
	r.MaxAge, r.MaxBytes = retention(c.Sessions)
	calm := make(chan struct{})
	if first {
		d.mcp.Later(func() { close(calm) }) // the model call goes first
	} else {
		close(calm)
	}
	d.background.Go(func() {
		select {
		case <-calm:
		case <-d.closing: // the end waits for no sweep
			return
		}
		if _, err := d.library.GC(r); err != nil {
			d.log.Warn("removing old sessions", "error", err)
		}
		removeOlder(filepath.Join(d.stateDir, "spill"), spillAge)
	})
}

// spillAge is how long outputs that were too long for the model are kept after the last one of their session.
const spillAge = 14 * 24 * time.Hour

// removeOlder removes what in a folder nobody has written to for that long.
func removeOlder(dir string, age time.Duration) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > age {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// close ends everything that the connection started, within ctx.
func (d *daemon) close(ctx context.Context) error {
	done := make(chan struct{})
	close(d.closing)
	go func() {
		defer close(done)
		d.background.Wait()
		d.mcp.Close()
		d.language.Close()
		d.jobs.Close()
		d.tools.Close()
		d.runner.Close()
		d.workspace.Close()
		d.providers.Close()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("shutting down: %w", context.Cause(ctx))
	}
	return errors.Join(d.policy.Flush(), d.memory.Close(), d.library.Close(), d.dropOwnState())
}

// dropOwnState removes the folder that stood for a state directory that could not be written.
func (d *daemon) dropOwnState() error {
	if d.ownState == "" {
		return nil
	}
	return os.RemoveAll(d.ownState)
}

// notice tells the user something that belongs to no session. The client may not be spoken to before
// initialize is answered: until a session exists, notices are kept for it.
func (d *daemon) notice(level, text string) {
	text = d.redact.Text(text)
	d.log.Warn(text, "level", level)
	d.mu.Lock()
	early := !d.greeted
	if early {
		d.early = append(d.early, [2]string{level, text})
	}
	d.mu.Unlock()
	if !early {
		d.peer.Notice(level, text)
	}
}

// greet shows the first session what was to be told before there was one.
func (d *daemon) greet(info rpc.SessionInfo) {
	d.mu.Lock()
	early := d.early
	d.early, d.greeted = nil, true
	d.mu.Unlock()
	for _, n := range early {
		info.Notice(n[0], n[1])
	}
}

// jobEnded tells a session that a background job of its has ended.
func (d *daemon) jobEnded(j tools.Job, text string) {
	d.mu.Lock()
	parts := d.sessions[j.SessionID]
	d.mu.Unlock()
	if parts == nil {
		return
	}
	m := message.NewText(message.RoleUser, text)
	m.Source, m.Author = message.SourceJob, "job"
	parts.info.Notify(m, true)
}

// stateDir is where the daemon keeps what it keeps.
func stateDir(env []string) string {
	if dir := lookup(env, "AGENT_LSP_STATE_DIR"); dir != "" {
		return dir
	}
	if dir := lookup(env, "XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "agent-lsp")
	}
	return filepath.Join(xdg.StateHome, "agent-lsp")
}

// userFile is the user's file of settings.
func userFile(env []string) string {
	if f := lookup(env, "AGENT_LSP_CONFIG"); f != "" {
		return f
	}
	if dir := lookup(env, "XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "agent-lsp", "config.json")
	}
	return settings.DefaultUserFile()
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// keyCommandTimeout bounds the command that prints a provider's key.
const keyCommandTimeout = 20 * time.Second

// maxKey bounds what a key command may print, bytes.
const maxKey = 64 << 10

// runKeyCommand runs provider.apiKeyCommand. What it prints on stdout is a secret from then on; what
// it says on stderr belongs to the error alone.
func (d *daemon) runKeyCommand(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, keyCommandTimeout, fmt.Errorf("it did not end within %v", keyCommandTimeout))
	defer cancel()
	p, err := d.runner.Start(ctx, shell.Command{Argv: argv, Env: d.env})
	if err != nil {
		return "", err
	}
	p.Stdin.Close()
	out, readErr := io.ReadAll(io.LimitReader(p.Stdout, maxKey))
	p.Stdout.Close()
	res, err := p.Wait()
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case res.ExitCode != 0:
		return "", errors.New(strings.TrimSuffix(fmt.Sprintf("it ended with %s: %s", res.Status(), lastLine(p.Stderr())), ": "))
	case readErr != nil:
		return "", readErr
	}
	key := string(out)
	d.redact.Add(key)
	return key, nil
}

// lastLine is the last line of a text that says something.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
