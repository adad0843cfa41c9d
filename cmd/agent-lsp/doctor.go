package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/settings"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// doctorTimeout bounds what doctor asks of the network.
const doctorTimeout = 10 * time.Second

// runDoctor says what is configured, what answers, and what to do next.
func runDoctor(ctx context.Context, p *program, args []string) int {
	flags := p.flags("doctor")
	explain := flags.Bool("config", false, "say of each setting why it has its value")
	if err := flags.Parse(args); err != nil {
		return usageCode(err)
	}
	root, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp doctor:", err)
		return exitFailed
	}
	state := stateDir(p.env)
	trusted, _ := settings.NewTrustFile(state + "/trust.json").Trusts(root)
	set := settings.Load(settings.Sources{UserFile: userFile(p.env), Root: root, Environ: p.env, Trusted: trusted})
	if *explain {
		if err := set.WriteExplanation(p.stdout); err != nil {
			return exitFailed
		}
		return exitOK
	}
	w := p.stdout
	fmt.Fprintf(w, "agent-lsp %s, %s/%s\n", version, runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(w, "settings: %s\n", present(userFile(p.env)))
	fmt.Fprintf(w, "workspace: %s (%s)\n", root, present(root+"/"+settings.WorkspaceName))
	fmt.Fprintf(w, "state: %s\n", state)
	for _, n := range set.Notices() {
		fmt.Fprintf(w, "notice: %s\n", n)
	}
	fmt.Fprintf(w, "sandbox: %s\n", sandboxLine(set.Config()))
	return p.doctorProvider(ctx, w, set.Config())
}

func present(path string) string {
	if _, err := os.Stat(path); err != nil {
		return path + ", not there"
	}
	return path
}

func sandboxLine(c *wire.Config) string {
	if sandbox.Setting(c.Sandbox) == sandbox.Off {
		return "off by the settings"
	}
	return sandbox.Detect().Describe()
}

// doctorProvider asks the provider for its models.
func (p *program) doctorProvider(ctx context.Context, w io.Writer, c *wire.Config) int {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	runner, err := shell.New(shell.Options{})
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp doctor:", err)
		return exitFailed
	}
	defer runner.Close()
	d := &daemon{env: p.env, runner: runner, redact: policy.NewRedactor(secretsIn(p.env)...)}
	models, err := newProviders(&settings.Resolver{Env: settings.Lookup(p.env), Run: d.runKeyCommand}, lookup(p.env, "AGENT_LSP_SCRIPT"))
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp doctor:", err)
		return exitFailed
	}
	defer models.Close()
	e, err := models.endpoint(ctx, c)
	var unset *settings.NotConfiguredError
	if errors.As(err, &unset) {
		fmt.Fprintf(w, "provider: none. %s\nnext: %s\n", unset.Reason, unset.Hint)
		return exitNoProvider
	}
	if err != nil {
		fmt.Fprintf(w, "provider: %s\n", d.redact.Text(err.Error()))
		return exitFailed
	}
	fmt.Fprintf(w, "provider: %s at %s\n", e.Name, withoutUser(e.BaseURL))
	list, err := models.list(ctx, c)
	if err != nil {
		fmt.Fprintf(w, "models: no answer: %s\nnext: check that the server runs and that the key is right\n", d.redact.Text(err.Error()))
		return exitFailed
	}
	fmt.Fprintf(w, "models: %d, using %s\n", len(list), firstOf(c.Model, e.Model, firstModel(list)))
	fmt.Fprintln(w, "next: start an editor, or try `agent-lsp run \"say hello\"`")
	return exitOK
}

func firstModel(list []wire.Model) string {
	if len(list) == 0 {
		return "none"
	}
	return list[0].ID
}
