package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/hooks"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// processRunner starts the formatters, checks and key commands that the settings name. It also
// builds the environment of all child processes. It is safe for concurrent use.
type processRunner struct {
	env    []string        // the daemon's own environment, with secrets
	root   string          // the working directory for checks and hooks
	roots  func() []string // folders of the workspace; nil means only root
	config func() *config.Config
	runner *shell.Runner
	redact *policy.Redactor
	// workspaces reports whether a key command comes from the workspace's settings, which the user
	// trusts. It may be nil.
	workspaces func(argv []string) bool
}

// environment returns the environment that children inherit.
func (p *processRunner) environment() policy.Environment {
	e := policy.Environment{Own: p.env}
	if p.config != nil {
		e.Pass = passedOn(p.config())
	}
	switch {
	case p.roots != nil:
		e.Roots = p.roots()
	case p.root != "":
		e.Roots = []string{p.root}
	}
	return e
}

// scrubbed returns the environment of children that may do more than read.
func (p *processRunner) scrubbed() []string { return p.environment().Child() }

// passedOn returns the names of variables that the settings pass to children.
func passedOn(c *config.Config) (names []string) {
	if c.Environment != nil {
		names = append(names, c.Environment.Pass...)
	}
	if c.Shell != nil {
		names = append(names, c.Shell.PassEnv...)
	}
	return names
}

// errUntrusted is the error for a program that the settings named earlier and that may no longer
// start.
var errUntrusted = errors.New("the settings no longer name this program, " +
	"or the workspace has changed since you trusted it")

// hookConfigs returns the external hooks in the settings. current returns the settings at the time
// when a hook starts. If the settings no longer contain the hook at that time, it does not run.
func (p *processRunner) hookConfigs(
	c *config.Config,
	current func() config.Config,
) map[string][]hooks.Config {
	out := map[string][]hooks.Config{}
	for point, list := range c.Hooks {
		for _, h := range list {
			env := withEnv(p.scrubbed(), h.Env)
			allowed := func() error {
				for _, now := range current().Hooks[point] {
					if reflect.DeepEqual(now, h) {
						return nil
					}
				}
				return errUntrusted
			}
			out[point] = append(out[point],
				hooks.Config{Matcher: h.Matcher, Command: h.Command, Args: h.Args, Env: env,
					Dir:     p.root,
					Timeout: time.Duration(h.TimeoutMs) * time.Millisecond, Allowed: allowed})
		}
	}
	return out
}

// format formats new text with the formatter that the settings specify for the file's name.
func (p *processRunner) format(ctx context.Context, path string, text []byte) ([]byte, error) {
	f, ok := lookupGlob(p.config().Formatters, filepath.Base(path))
	if !ok {
		return text, nil
	}
	res, err := p.runner.Run(ctx, shell.Command{Argv: append([]string{f.Command}, f.Args...),
		Dir: filepath.Dir(path), Env: p.scrubbed(),
		Stdin: strings.NewReader(string(text)), Timeout: orDefault(f.TimeoutMs, 10*time.Second),
		HeadBytes: maxFormatted, SpillBytes: -1})
	if err != nil {
		return nil, err
	}
	if res.ExitCode != 0 || res.Truncated {
		return nil, fmt.Errorf("formatting with %s: exit code %d", f.Command, res.ExitCode)
	}
	return res.Head, nil
}

// maxFormatted is the maximum size, in bytes, of a formatter's output.
const maxFormatted = 8 << 20

// check runs the check command from the settings after an edit.
func (p *processRunner) check(ctx context.Context, paths []string) (string, error) {
	c := p.config().Check
	if c == nil || c.Command == "" || !anyMatches(c.Files, paths) {
		return "", nil
	}
	quoted := make([]string, len(paths))
	for i, path := range paths {
		quoted[i] = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	script := strings.ReplaceAll(c.Command, "${files}", strings.Join(quoted, " "))
	res, err := p.runner.Run(ctx, shell.Command{Script: script, Shell: shellProgram(p.config()),
		Dir: p.root, Env: p.scrubbed(), Timeout: orDefault(c.TimeoutMs, time.Minute),
		SpillBytes: -1})
	if err != nil {
		return "", err
	}
	out := strings.TrimSpace(string(res.Head) + string(res.Tail))
	if res.ExitCode == 0 {
		return "", nil
	}
	return fmt.Sprintf("check `%s` failed (exit code %d):\n%s", c.Command, res.ExitCode, out), nil
}

func anyMatches(globs, paths []string) bool {
	for _, g := range globs {
		for _, path := range paths {
			if globMatch(g, filepath.Base(path)) {
				return true
			}
		}
	}
	return len(globs) == 0
}

// keyCommandTimeout is the time limit of the command that prints a provider's key.
const keyCommandTimeout = 20 * time.Second

// maxKey is the maximum size, in bytes, of a key command's output.
const maxKey = 64 << 10

// runKeyCommand runs the apiKeyCommand of a provider. It may need any variable of the user, so it
// gets the daemon's own environment, but without the folders of the workspace in PATH. The user's
// own command does not run in the workspace either, because programs such as python3 -m first look
// for code in their folder. Its stdout is treated as a secret from then on. Its stderr is used only
// for the error.
func (p *processRunner) runKeyCommand(ctx context.Context, argv []string) (string, error) {
	if p.config != nil && !namesKeyCommand(p.config(), argv) {
		return "", errUntrusted
	}
	ctx, cancel := context.WithTimeoutCause(ctx, keyCommandTimeout,
		fmt.Errorf("it did not end within %v", keyCommandTimeout))
	defer cancel()
	dir := outside(p.env)
	if p.workspaces != nil && p.workspaces(argv) {
		dir = p.root
	}
	started, err := p.runner.Start(ctx, shell.Command{
		Argv: argv, Env: p.keyEnvironment(), Dir: dir,
	})
	if err != nil {
		return "", err
	}
	started.Stdin.Close()
	out, readErr := io.ReadAll(io.LimitReader(started.Stdout, maxKey))
	started.Stdout.Close()
	res, err := started.Wait()
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case res.ExitCode != 0:
		return "", errors.New(strings.TrimSuffix(fmt.Sprintf("it ended with %s: %s", res.Status(),
			lastLine(started.Stderr())), ": "))
	case readErr != nil:
		return "", readErr
	}
	key := string(out)
	p.redact.Add(key)
	return key, nil
}

// keyEnvironment returns the daemon's own environment without the entries of PATH in a workspace.
// If the workspace is the home folder, its entries are the user's own.
func (p *processRunner) keyEnvironment() []string {
	e := p.environment()
	e.Roots = slices.DeleteFunc(slices.Clone(e.Roots),
		func(root string) bool { return TooLarge(root, p.env) != "" })
	return e.All()
}

// outside returns a folder whose content no repository determines: the user's home folder, or the
// temporary folder if there is no home folder.
func outside(env []string) string {
	if home := homeFolder(env); filepath.IsAbs(home) {
		if info, err := os.Stat(home); err == nil && info.IsDir() {
			return home
		}
	}
	return os.TempDir()
}

// namesKeyCommand reports whether a provider of the current settings has this command.
func namesKeyCommand(c *config.Config, argv []string) bool {
	if c.Provider != nil && slices.Equal(c.Provider.APIKeyCommand, argv) {
		return true
	}
	for _, p := range c.Providers {
		if slices.Equal(p.APIKeyCommand, argv) {
			return true
		}
	}
	return false
}

// lastLine returns the last non-empty line of s.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
