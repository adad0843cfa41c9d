package app

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/hooks"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// Redactor removes secrets from text.
type Redactor = policy.Redactor

// NewRedactor returns a redactor for the secrets of an environment.
func NewRedactor(env []string) *Redactor { return policy.NewRedactor(secretsIn(env)...) }

// Secret reports whether a file with this path usually contains secrets.
func Secret(path string) bool { return policy.Secret(path) }

// Refused reports whether the result of a call says that the call was refused.
func Refused(result string) bool { return policy.Refused(result) }

// Lookup returns the value of a variable in an environment, or the last value if it is set twice.
func Lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// OpenLibrary opens the stored sessions of a workspace. The caller must close the library.
func OpenLibrary(env []string, workspace string) *session.Library {
	return session.OpenWith(session.Dir(StateDir(env), workspace),
		session.Options{Redact: NewRedactor(env).Bytes})
}

// Faults lists the settings that a session cannot use.
func Faults(c config.Config, env []string, root string) []string {
	c = inMode(c)
	_, faults := policySettings(&c, nil)
	faults = append(faults, unnamed(&c)...)
	if err := hooks.Check(slices.Collect(maps.Keys(c.Hooks))); err != nil {
		faults = append(faults, err.Error())
	}
	inherited := policy.Environment{Own: env, Pass: passedOn(&c)}.Child()
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		s := c.MCPServers[name]
		if why := mcpConfig(name, s, inherited, env, root).Hopeless(); why != "" && !s.Disabled {
			faults = append(faults, "MCP server "+name+": "+why)
		}
	}
	return faults
}

// unenforcedNote explains the effect of a missing sandbox.
const unenforcedNote = "only a short list of read-only commands runs without asking"

// DescribeSandbox returns lines for the user about the sandbox for commands, the reason why there
// is no better one, and the part of the home folder that commands can see.
func DescribeSandbox(c *config.Config) []string {
	if sandbox.Setting(c.Sandbox) == sandbox.Off {
		return []string{"sandbox: off in the settings: " + unenforcedNote}
	}
	box := sandbox.Detect()
	lines := []string{"sandbox: " + box.Describe()}
	switch box.Kind {
	case sandbox.Own:
		visible := strings.Join(sandbox.HomeVisible(), ", ")
		lines = append(lines, "commands see only these parts of the home folder: "+visible)
	case sandbox.None:
		lines = append(lines, "notice: without a sandbox, "+unenforcedNote)
	}
	return lines
}

// ShellLacks names the program or feature that the system lacks to run commands, or returns "".
func ShellLacks() string { return shell.Lacks() }

// CheckState returns the reason why nothing can be stored in a state directory, or nil. It creates
// no folder.
func CheckState(dir string) error { return tryWriting(standing(dir)) }

// Probe queries the provider of a configuration for its models. The caller must close the Probe.
type Probe struct {
	runner *shell.Runner
	models *providers
	redact *policy.Redactor
}

// Endpoint is a provider as shown to the user. The URL contains no user name and no password.
type Endpoint struct{ Name, URL, Model string }

// NewProbe returns a Probe. It starts no process and opens no connection.
func NewProbe(env []string) (*Probe, error) {
	runner, err := shell.New(shell.Options{})
	if err != nil {
		return nil, err
	}
	p := &Probe{runner: runner, redact: NewRedactor(env)}
	cwd, _ := os.Getwd() // without it, only the relative entries of PATH are removed
	commands := &processRunner{env: env, root: cwd, runner: runner, redact: p.redact}
	resolver := &config.Resolver{
		Env: config.Lookup(env), Run: commands.runKeyCommand,
		Stored: storedKeys(Logins(env), p.redact),
		Secret: func(key string) { p.redact.Add(key) },
	}
	if p.models, err = newProviders(
		resolver, Lookup(env, "AGENT_LSP_SCRIPT"), CacheDir(env),
	); err != nil {
		runner.Close()
		return nil, err
	}
	return p, nil
}

// Endpoint finds the provider. The error is a *config.NotConfiguredError if there is none. The text
// of any other error contains no secret.
func (p *Probe) Endpoint(ctx context.Context, c *config.Config) (Endpoint, error) {
	e, err := p.models.endpoint(ctx, c)
	var unset *config.NotConfiguredError
	if err != nil && !errors.As(err, &unset) {
		err = errors.New(p.redact.Text(err.Error()))
	}
	if err != nil {
		return Endpoint{}, err
	}
	return Endpoint{Name: e.Name, URL: withoutUser(e.BaseURL), Model: e.Model}, nil
}

// AllModels lists the models of all usable providers, as agent/models does. The error is a
// *config.NotConfiguredError if there is no provider. The text of any other error contains no
// secret.
func (p *Probe) AllModels(ctx context.Context, c *config.Config) ([]wire.Model, error) {
	p.models.catalog.load(c)
	list, err := p.models.list(ctx, c)
	return list, p.shownError(err)
}

// ModelsOf lists the models of one provider, as AllModels does.
func (p *Probe) ModelsOf(
	ctx context.Context, c *config.Config, provider string,
) ([]wire.Model, error) {
	p.models.catalog.load(c)
	list, err := p.models.listOf(ctx, c, provider)
	return list, p.shownError(err)
}

// shownError removes secrets from an error that is not a *config.NotConfiguredError.
func (p *Probe) shownError(err error) error {
	var unset *config.NotConfiguredError
	if err != nil && !errors.As(err, &unset) {
		err = errors.New(p.redact.Text(err.Error()))
	}
	return err
}

// Models lists the models of the default provider. If they cannot be listed, it returns the problem
// and a hint about what to do.
func (p *Probe) Models(ctx context.Context, c *config.Config) (ids []string, problem, hint string) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	list, err := p.models.listOne(ctx, c, c.DefaultProvider(), true)
	if err != nil {
		problem, hint = parted(err, "check that the server is running and that the key is correct")
		return nil, p.redact.Text(problem), p.redact.Text(hint)
	}
	return idsOf(list, func(m wire.Model) string { return m.ID }), "", ""
}

// Close ends all work that the probe started.
func (p *Probe) Close() {
	p.models.Close()
	p.runner.Close()
}

// Outside returns an environment whose PATH contains no entries in the folders of a workspace.
func Outside(env []string, roots ...string) []string {
	return policy.Environment{Own: env, Roots: roots}.All()
}

// CleanPath removes entries in the folders of a workspace from the PATH of this process, so that
// agent-lsp finds neither its shell nor bubblewrap in the workspace.
func CleanPath(roots ...string) { policy.Environment{Roots: roots}.CleanPath() }
