package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver/codefiles"
)

// serverTrust decides which language servers may run in a workspace folder. These are the servers
// that run no code from the folder, and the servers that the user trusts with its current code.
type serverTrust struct {
	file     *config.TrustFile
	policy   func() *policy.Engine
	programs *config.Programs
	turn     chan struct{} // semaphore, held while the user is asked
	plan     func(readable []string) (*sandbox.Plan, error)
}

func newServerTrust(file *config.TrustFile, p func() *policy.Engine) *serverTrust {
	return &serverTrust{
		file: file, policy: p, programs: config.NewPrograms(), turn: make(chan struct{}, 1),
	}
}

// errCode reports why a language server does not run in a workspace that the user does not trust.
var errCode = errors.New("it would run code from this workspace, which the user has not trusted " +
	"(the user can allow it with `agent-lsp trust yes`)")

// errTooMuchCode reports why a language server cannot be trusted.
var errTooMuchCode = errors.New("the workspace has too many files to determine " +
	"which of them it would run")

// allow implements Options.Allow of the hub.
func (t *serverTrust) allow(ctx context.Context, s langserver.Start) error {
	c, runs := t.claim(s.Server, s.Top, s.Code)
	switch {
	case !s.Code.All || runs && c.Digest == "":
		return errTooMuchCode
	case !runs || t.file.Answer(s.Top).Covers(c):
		return nil
	case s.Call == nil:
		return errCode
	}
	resume := s.Call.Paused()
	defer resume()
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return t.ask(ctx, s, c)
}

// claim returns the code that a server runs from a workspace folder. runs is false if there is no
// such code.
func (t *serverTrust) claim(
	c langserver.Config,
	top string,
	found codefiles.Code,
) (claim config.Claim, runs bool) {
	code := slices.Clip(found.Names)
	program := langserver.Program(c.Command, c.Env)
	if real, err := realProgram(c); err == nil {
		if rel, err := filepath.Rel(top, real); err == nil && filepath.IsLocal(rel) {
			code = append(code, filepath.ToSlash(rel))
		}
	}
	code = append(code, config.FilesNamed(top, values(c)...)...)
	layer := "language server " + c.Name
	if found.Package != "" {
		layer += " for " + found.Package
	}
	claim = t.programs.Claim(top, layer, []config.Claimed{{
		Path:  "languageServers." + c.Name,
		Value: map[string]any{"command": program, "args": anys(c.Args)},
	}}, code)
	if len(found.Above) > 0 {
		claim = claim.With(t.programs.Claim(found.Up, layer, nil, found.Above), found.Up)
	}
	return claim, claim.Digest == "" || len(claim.Files) > 0
}

// realProgram returns the file of a server's program, with links resolved.
func realProgram(c langserver.Config) (string, error) {
	program, err := filepath.Abs(langserver.Program(c.Command, c.Env))
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(program)
}

// values returns all strings that are passed to a server and may name a file of the workspace.
func values(c langserver.Config) []any {
	out := []any{c.Command, string(c.InitializationOptions), string(c.Settings)}
	for _, arg := range c.Args {
		out = append(out, arg)
	}
	for _, kv := range c.Env {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "PATH", "Path", "HOME", "USER", "SHELL", "PWD": // these do not name a file that is run
		default:
			out = append(out, value)
		}
	}
	return out
}

func anys(list []string) []any {
	out := []any{}
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

// ask asks the user, unless another call has already asked in the meantime.
func (t *serverTrust) ask(ctx context.Context, s langserver.Start, c config.Claim) error {
	waiting := false
	list := serverClaims{claims{t.file, []config.Claim{c}}}
	trusted, err := t.policy().AskTrust(ctx, list, policy.TrustQuestion{
		Request: tool.ApprovalRequest{
			SessionID: s.Call.SessionID, TurnID: s.Call.TurnID, ItemID: s.Call.ItemID,
			CallID: s.Call.ID,
			Waiting: func() {
				waiting = true
				s.Call.Report(tool.Update{Status: tool.StatusAwaitingPermission})
			},
		},
		Subject: tool.Subject{
			Kind: tool.SubjectTrust, Title: "Start the language server " + s.Server.Name + " in " +
				s.Top + "?", Paths: []string{s.Top},
		},
		Root: s.Top, What: list.text(),
		Reason: "this language server runs code from the workspace",
		Allow:  "Allow: trust this code", Reject: "Reject: do not start it",
	})
	if waiting {
		s.Call.Report(tool.Update{Status: tool.StatusRunning})
	}
	if err == nil && !trusted {
		err = errCode
	}
	return err
}

// serverClaims are claims of language servers. A refusal applies only to their current contents.
type serverClaims struct{ claims }

// Trusts implements policy.TrustStore.
func (c serverClaims) Trusts(root string) (trusted, asked bool) {
	answer := c.file.Answer(root)
	if slices.ContainsFunc(c.list, answer.RefusesNow) {
		return false, true
	}
	return c.claims.Trusts(root)
}

// Set implements policy.TrustStore.
func (c serverClaims) Set(root string, trusted bool) error {
	if trusted {
		return c.file.Allow(root, c.list)
	}
	return c.file.RefuseClaims(root, c.list)
}

// sandbox returns the sandbox for a language server. The server can also read its program, the
// files in its arguments, and the node_modules folders that contain them.
func (t *serverTrust) sandbox(c langserver.Config) (*sandbox.Plan, error) {
	real, err := realProgram(c)
	if err != nil {
		return nil, err
	}
	readable := []string{real}
	for _, arg := range c.Args {
		if info, err := os.Stat(arg); err == nil && filepath.IsAbs(arg) && info.Mode().IsRegular() {
			readable = append(readable, arg)
		}
	}
	for _, file := range slices.Clone(readable) {
		if packages, _, ok := strings.Cut(file, "/node_modules/"); ok {
			readable = append(readable, packages+"/node_modules")
		}
	}
	return t.plan(readable)
}

// languageFolders names the folders for temporary files and caches that language servers share.
const languageFolders = "language-servers"

// languagePlan returns the sandbox for a language server. It does not use the settings of a
// session.
func (d *daemon) languagePlan(readable []string) (*sandbox.Plan, error) {
	tmp, layer, err := d.shared.scratch.Folders(languageFolders)
	if err != nil {
		return nil, err
	}
	// The problems are dropped here, because configurePolicy reports them.
	s, _ := policySettings(d.settings.config(), d.rootPaths())
	s.Own = d.ownFiles()
	own := policy.Folders{Tmp: tmp, Layer: layer, Lock: d.shared.scratch.Lock()}
	return d.policy.ServerPlan(s, own, readable)
}

// LanguageServerClaims returns the code that language servers would run from a workspace folder,
// for `agent-lsp trust`.
func LanguageServerClaims(c *config.Config, env []string, top string) (out []config.Claim) {
	get := func() *config.Config { return c }
	l := &languageServers{
		config: get, processes: &processRunner{env: env, root: top, config: get},
	}
	t := newServerTrust(nil, nil)
	finder := codefiles.New()
	for _, server := range l.servers() {
		if server.Disabled || langserver.Program(server.Command, server.Env) == "" {
			continue
		}
		code := finder.Code(top, top, server.Command)
		if claim, runs := t.claim(server, top, code); runs {
			if !code.All {
				claim.Digest = ""
			}
			out = append(out, claim)
		}
	}
	return out
}
