package policy

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// Options configures an Engine. With the zero value, an Engine does not ask the user and stores
// nothing.
type Options struct {
	Asker Asker // nil: actions that require approval are refused
	Store Store // nil: grants with the scope "always" are not stored
	// Redactor recognizes secrets. A pattern that contains one is never stored. If Redactor is nil,
	// every pattern may be stored.
	Redactor *Redactor
	// Sandbox returns the sandbox support of the system. If it is nil, NewEngine uses
	// sandbox.Detect, which runs on first use.
	Sandbox func() sandbox.Support
	// Protected lists paths, relative to a root, that sandboxed commands may not write to even if
	// they may write to the folders that contain them. If it is nil, DefaultProtected is used.
	Protected []string
}

// Engine makes the permission decisions of all sessions. It is safe for concurrent use.
type Engine struct {
	opts Options
	asks asks

	mu       sync.Mutex // guards the fields below; never held while asking or saving
	sessions map[string]Settings
	holding  map[string]int  // how often Hold keeps a session's policy
	ended    map[string]bool // sessions that Forget has ended while Hold keeps their policy
	grants   []Grant
	loadErr  error

	saveMu sync.Mutex // orders the saves; guards stored
	stored []Grant    // the grants as last read or written
}

var _ toolcall.Foreseer = (*Engine)(nil)

// NewEngine creates an Engine and loads the grants. If the grants cannot be read, it returns the
// error together with an Engine that works without them.
func NewEngine(o Options) (*Engine, error) {
	if o.Sandbox == nil {
		o.Sandbox = sandbox.Detect
	}
	if o.Protected == nil {
		o.Protected = DefaultProtected
	}
	e := &Engine{opts: o, sessions: map[string]Settings{}, holding: map[string]int{},
		ended: map[string]bool{}}
	e.asks.asker = o.Asker
	if o.Store == nil {
		return e, nil
	}
	var err error
	e.grants, err = o.Store.Load()
	e.stored, e.loadErr = slices.Clone(e.grants), err
	return e, err
}

// Configure sets a session's policy, which takes effect with the next decision.
func (e *Engine) Configure(session string, s Settings) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[session] = s
	delete(e.ended, session)
}

// Hold keeps the policies of a session and its parents until the caller calls the returned
// function, even if the session is forgotten. A program that outlives its session holds them.
func (e *Engine) Hold(session string) (release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var family []string
	for depth := 0; session != "" && depth <= 8; depth++ {
		e.holding[session]++
		family = append(family, session)
		session = e.sessions[session].Parent
	}
	return sync.OnceFunc(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, s := range family {
			if e.holding[s]--; e.holding[s] > 0 {
				continue
			}
			delete(e.holding, s)
			if e.ended[s] {
				delete(e.sessions, s)
				delete(e.ended, s)
			}
		}
	})
}

// Forget drops a session's policy, unless it is held, and the grants that apply only to that
// session.
func (e *Engine) Forget(session string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended[session] = e.holding[session] > 0; !e.ended[session] {
		delete(e.sessions, session)
		delete(e.ended, session)
	}
	kept := e.grants[:0]
	for _, g := range e.grants {
		if g.Scope != ScopeSession || g.Session != session {
			kept = append(kept, g)
		}
	}
	e.grants = kept
}

// Settings returns the policy in force for a session, bounded by the policies of its parents.
func (e *Engine) Settings(session string) Settings {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.settings(session)
}

// settings implements Settings. The caller holds mu. An unknown parent restricts the session to the
// read-only profile. The depth limit ends the walk if the parents form a loop.
func (e *Engine) settings(session string) Settings {
	s := e.sessions[session]
	for parent, depth := s.Parent, 0; parent != ""; depth++ {
		p, ok := e.sessions[parent]
		if !ok || depth > 8 {
			p = Settings{Profile: ProfileReadOnly}
		}
		s, parent = s.Under(p), p.Parent
	}
	return s
}

// Approve implements toolcall.Approver.
func (e *Engine) Approve(ctx context.Context, req tool.ApprovalRequest) (tool.Decision, error) {
	v := e.check(&req)
	switch said := req.Foreseen; {
	case said != nil && (v.action == Ask || v.action == Allow && !said.Allow):
		return *said, nil
	case v.action != Ask:
		return e.settle(v), nil
	case e.opts.Asker == nil:
		return tool.Decision{
			Reason: "this needs the user's permission, and no client can ask for it: " +
				v.reason,
		}, nil
	}
	if req.Again != "" {
		v.reason = req.Again + ": " + v.reason
	}
	d, err := e.ask(ctx, &req, v)
	if err != nil {
		return tool.Decision{}, err
	}
	if d == nil { // a grant given in the meantime allows the request
		return e.settle(e.check(&req)), nil
	}
	return *d, nil
}

// Foresee implements toolcall.Foreseer.
func (e *Engine) Foresee(ctx context.Context, req tool.ApprovalRequest) *tool.Decision {
	v := e.check(&req)
	if v.action != Ask || e.opts.Asker == nil {
		return nil
	}
	d, err := e.ask(ctx, &req, v)
	if err != nil {
		return nil
	}
	return d
}

// Refuses returns the reason why a request would now be refused without a question, or "" if it
// would not.
func (e *Engine) Refuses(req tool.ApprovalRequest) string {
	if v := e.check(&req); v.action == Deny {
		return e.settle(v).Reason
	}
	return ""
}

// check decides without asking the user.
func (e *Engine) check(req *tool.ApprovalRequest) verdict {
	command := req.Subject != nil && req.Subject.Kind == tool.SubjectCommand
	var run map[string]string
	var box sandbox.Support
	if command {
		if e.Settings(req.SessionID).Sandbox != sandbox.Off {
			box = e.opts.Sandbox()
		}
		run = e.runFiles(req, !box.Enforces())
	}
	e.mu.Lock()
	s := e.settings(req.SessionID)
	rules := append([]Rule(nil), s.Rules...)
	for _, g := range e.grants {
		if e.holds(g, req.SessionID, s) && g.matchesFiles(run) {
			rules = append(rules, g.rules()...)
		}
	}
	e.mu.Unlock()
	m := e.machine(s)
	if s.Sandbox != sandbox.Off {
		m.box = box
	}
	v := s.classify(m, rules, req)
	v.files = run
	return v
}

// runFiles returns the hashes of the workspace files that a command runs by path. If scripts is
// true, it also returns those that an interpreter runs. The keys are the paths.
func (e *Engine) runFiles(req *tool.ApprovalRequest, scripts bool) map[string]string {
	if !scripts && !strings.Contains(req.Subject.Command, "/") {
		return nil
	}
	s, c := e.Settings(req.SessionID), Classify(req.Subject.Command)
	files, ok := s.directFiles(req.Subject, c, scripts)
	if !ok {
		return map[string]string{"": ""} // a value that no stored grant matches
	}
	return files
}

// machine returns the capabilities of the host for commands of a session with these settings. It
// does not include the sandbox.
func (e *Engine) machine(s Settings) machine {
	return machine{readable: !s.Unreadable}
}

// holds reports whether a grant applies to a session. A grant applies if it belongs to the session
// itself, one of the session's parents, or the session's workspace.
func (e *Engine) holds(g Grant, session string, s Settings) bool {
	if g.Scope == ScopeAlways {
		return g.Root == rootOf(s)
	}
	for depth := 0; session != "" && depth < 8; depth++ {
		if g.Session == session {
			return true
		}
		session = e.sessions[session].Parent
	}
	return false
}

// family returns the user's session above a sub-agent's session. The questions of both sessions are
// shown in the user's session.
func (e *Engine) family(session string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for depth := 0; e.sessions[session].Parent != "" && depth < 8; depth++ {
		session = e.sessions[session].Parent
	}
	return session
}

func rootOf(s Settings) string {
	if len(s.Roots) == 0 {
		return ""
	}
	return filepath.Clean(s.Roots[0])
}

// settle turns a verdict into a decision and counts each use of a grant.
func (e *Engine) settle(v verdict) tool.Decision {
	d := tool.Decision{Allow: v.action == Allow, Reason: v.reason}
	if d.Allow {
		d.Secrets = v.secrets
	} else {
		d.Reason = notAllowed + v.reason
		return d
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.grants {
		if usedGrant(e.grants[i], v.grants) {
			e.grants[i].Uses++
			d.GrantKey = e.grants[i].ID
		}
	}
	return d
}

func usedGrant(g Grant, used []string) bool {
	for _, p := range g.Patterns {
		for _, u := range used {
			if !g.Deny && u == g.Tool+"("+p+")" {
				return true
			}
		}
	}
	return false
}

// Grants returns a copy of all grants, including those for one session.
func (e *Engine) Grants() []Grant {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Grant(nil), e.grants...)
}

// Revoke removes a grant and reports whether it existed. It returns an error if the grants cannot
// be saved.
func (e *Engine) Revoke(id string) (bool, error) {
	e.mu.Lock()
	found := false
	for i, g := range e.grants {
		if g.ID == id {
			e.grants = append(e.grants[:i:i], e.grants[i+1:]...)
			found = true
			break
		}
	}
	e.mu.Unlock()
	if !found {
		return false, nil
	}
	return true, e.Flush()
}

// Flush writes the grants with the scope "always" if they or their use counts changed. Call it when
// the daemon exits.
func (e *Engine) Flush() error {
	if e.opts.Store == nil || e.loadErr != nil { // never overwrite a file that could not be read
		return nil
	}
	e.saveMu.Lock()
	defer e.saveMu.Unlock()
	if slices.EqualFunc(e.stored, lasting(e.Grants()),
		func(a, b Grant) bool { return a.ID == b.ID && a.Uses == b.Uses }) {
		return nil
	}
	var kept []Grant
	err := e.opts.Store.Update(func(stored []Grant) []Grant {
		kept = e.adopt(stored)
		return kept
	})
	if err == nil {
		e.stored = kept
	}
	return err
}

// adopt merges the grants that other daemons have stored or revoked since this daemon last read the
// store. Otherwise, a grant or revocation by one daemon would be undone when another one ends. It
// returns the grants to store now.
func (e *Engine) adopt(disk []Grant) []Grant {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.grants = slices.DeleteFunc(e.grants, func(g Grant) bool {
		return g.Scope == ScopeAlways && holds(e.stored, g.ID) && !holds(disk, g.ID)
	})
	for _, g := range disk {
		if !holds(e.stored, g.ID) && !holds(e.grants, g.ID) {
			e.grants = append(e.grants, g)
		}
	}
	return lasting(e.grants)
}

// lasting returns the grants with the scope "always".
func lasting(grants []Grant) (out []Grant) {
	for _, g := range grants {
		if g.Scope == ScopeAlways {
			out = append(out, g)
		}
	}
	return out
}

func holds(grants []Grant, id string) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool { return g.ID == id })
}

// remember adds a grant and, if its scope is "always", saves it.
func (e *Engine) remember(g Grant) error {
	g.ID, g.CreatedAt = newGrantID(), time.Now().UTC().Truncate(time.Second)
	e.mu.Lock()
	e.grants = append(e.grants, g)
	e.mu.Unlock()
	if g.Scope == ScopeAlways {
		return e.Flush()
	}
	return nil
}

// DefaultProtected lists files and folders in a root that can start programs outside the sandbox.
// They are therefore read-only inside the sandbox. Only bubblewrap uses this list, because it
// protects only files that exist. agent-lsp's own sandbox protects all files for which
// launcher.StartsPrograms returns true.
var DefaultProtected = []string{".git/hooks", ".git/config", ".agent-lsp.json", ".vscode", ".husky",
	".envrc"}

// Folders are the folders outside the workspace that a session's commands write to. Tmp and Layer
// are created when needed.
type Folders struct {
	Tmp   string // for temporary files
	Layer string // for private layers over package caches, if the sandbox supports them
	Lock  string // file that all sessions share; see sandbox.Spec
}

// Sandbox returns the sandbox that commands of a session run in. Kind is None if the commands run
// without a sandbox. A command runs outside an available sandbox if the user has allowed exactly
// that (unboxed), unless the settings require the sandbox.
func (e *Engine) Sandbox(session string, unboxed bool) sandbox.Support {
	s := e.Settings(session)
	if unboxed && s.Sandbox != sandbox.Require || s.Sandbox == sandbox.Off {
		return sandbox.Support{Kind: sandbox.None}
	}
	return e.opts.Sandbox()
}

// Granted contains the decisions about one run of a command, in addition to the permission to run
// it.
type Granted struct {
	Outside bool     // the command runs outside the sandbox
	Secrets []string // resolved paths of the secret files that the command may read
	// Proxy registers the command with the proxy. If Proxy is nil, the command has no network
	// access.
	Proxy func() (*sandbox.Proxy, error)
}

// SandboxPlan returns the sandbox for a command of a session, or nil if the command runs without a
// sandbox. A command that only reads may not write to the workspace either.
func (e *Engine) SandboxPlan(
	session, command string,
	own Folders,
	granted Granted,
) (*sandbox.Plan, error) {
	s, box := e.Settings(session), e.Sandbox(session, granted.Outside)
	if !box.Available() && s.Sandbox != sandbox.Require {
		return nil, nil
	}
	roots := unmoved(s.Roots)
	spec := sandbox.Spec{Tmp: own.Tmp, Layer: own.Layer, Lock: own.Lock, Readable: roots,
		Caches: Caches(), Secrets: granted.Secrets, Hidden: s.Own.Data, Settings: s.Own.Settings}
	if Classify(command).Class > ReadOnly && s.profile() != ProfileReadOnly {
		spec.Writable = slices.Concat(s.Writable, roots)
		for _, root := range roots {
			for _, p := range e.opts.Protected {
				spec.Protected = append(spec.Protected, filepath.Join(root, p))
			}
		}
		if granted.Proxy != nil && box.Proxies() {
			var err error
			if spec.Proxy, err = granted.Proxy(); err != nil {
				return nil, err
			}
		}
	}
	plan, err := box.Plan(spec)
	if err != nil && spec.Proxy != nil {
		spec.Proxy.Run.Close()
	}
	return plan, err
}

// ServerPlan returns the sandbox for a long-running program that the settings name, such as a
// language server. The program has no network access. readable lists folders in the home directory
// that must stay visible. The plan is nil if there is no sandbox.
func (e *Engine) ServerPlan(s Settings, own Folders, readable []string) (*sandbox.Plan, error) {
	box := e.opts.Sandbox()
	if s.Sandbox == sandbox.Off || !box.Available() && s.Sandbox != sandbox.Require {
		return nil, nil
	}
	roots := unmoved(s.Roots)
	spec := sandbox.Spec{
		Tmp: own.Tmp, Layer: own.Layer, Lock: own.Lock, Caches: Caches(),
		Readable: slices.Concat(roots, readable), Hidden: s.Own.Data, Settings: s.Own.Settings,
	}
	if s.profile() != ProfileReadOnly {
		spec.Writable = slices.Concat(s.Writable, roots)
	}
	return box.Plan(spec)
}

// Describe returns the line about the sandbox for `agent-lsp doctor` and agent/status.
func (e *Engine) Describe(session string) string {
	switch s := e.Settings(session); {
	case s.Sandbox == sandbox.Off:
		return "off: commands run without a sandbox"
	case s.Sandbox == sandbox.Require && !e.opts.Sandbox().Available():
		return fmt.Sprintf("required, but %s, so no command runs",
			strings.TrimSuffix(e.opts.Sandbox().Describe(), "."))
	}
	return e.opts.Sandbox().Describe()
}
