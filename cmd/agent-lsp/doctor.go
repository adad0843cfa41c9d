package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/hooks"
	"github.com/agent-lsp/agent-lsp/internal/near"
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
	if err := p.parse(flags, args); err != nil {
		return usageCode(err)
	}
	if p.unexpected(flags) {
		return exitUsage
	}
	root, err := workingFolder()
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
	if err := tryWriting(standing(state)); err != nil {
		fmt.Fprintf(w, "notice: %s cannot be written (%v): what a run keeps there ends with it; make it writable, or set XDG_STATE_HOME\n", state, err)
	}
	for _, n := range set.Notices() {
		fmt.Fprintf(w, "notice: %s\n", n)
	}
	for _, fault := range (&daemon{env: p.env, root: root}).faultsOf(inMode(*set.Config())) {
		fmt.Fprintf(w, "notice: %s\n", fault)
	}
	fmt.Fprintf(w, "sandbox: %s\n", sandboxLine(set.Config()))
	code := p.doctorProvider(ctx, w, set.Config())
	for _, n := range set.Notices() {
		if n.Invalid && n.Path == "" {
			fmt.Fprintf(w, "next: mend the %s first: nothing of it counts\n", n.Layer)
		}
	}
	return code
}

// faultsOf says what of the settings a session would be told that it cannot use.
func (d *daemon) faultsOf(c wire.Config) []string {
	_, faults := policySettings(&c, nil)
	faults = append(faults, unnamed(&c)...)
	if err := hooks.Check(slices.Collect(maps.Keys(c.Hooks))); err != nil {
		faults = append(faults, err.Error())
	}
	for _, name := range sortedKeys(c.MCPServers) {
		s := c.MCPServers[name]
		if why := d.mcpConfig(name, s).Hopeless(); why != "" && !s.Disabled {
			faults = append(faults, "MCP server "+name+": "+why)
		}
	}
	return faults
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
		problem, hint := parted(err, "check that the server runs and that the key is right")
		fmt.Fprintf(w, "models: no answer: %s\nnext: %s\n", d.redact.Text(problem), d.redact.Text(hint))
		return exitFailed
	}
	writeModels(w, idsOf(list, func(m wire.Model) string { return m.ID }), firstOf(c.Model, e.Model))
	return exitOK
}

// writeModels says which model is used and whether the provider has it; some answer for more than they list.
func writeModels(w io.Writer, ids []string, using string) {
	using = firstOf(using, settings.ChatModel(ids), "none")
	fmt.Fprintf(w, "models: %d, using %s", len(ids), using)
	if len(ids) == 0 || slices.Contains(ids, using) {
		fmt.Fprintln(w, "\nnext: start an editor, or try `agent-lsp run \"say hello\"`")
		return
	}
	fmt.Fprint(w, ", which is not among them")
	if near := near.Of(using, ids); near != "" {
		fmt.Fprintf(w, "; %s is", near)
	}
	fmt.Fprintln(w, "\nnext: try `agent-lsp run \"say hello\"`; if the model is refused, set \"model\" or OPENAI_MODEL to one that is listed, such as", settings.ChatModel(ids))
}
