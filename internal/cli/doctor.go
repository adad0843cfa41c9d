package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/near"
)

// doctorTimeout limits the network requests of doctor and of models.
const doctorTimeout = 10 * time.Second

// doctorCommand returns the command that reports the configuration, the provider's response and the
// next step.
func (p *program) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "check the configuration and the provider, and report the next step",
		Args: noArguments,
	}
	explain := c.Flags().Bool("config", false, "explain where the value of each setting comes from")
	c.Run = p.does(func(ctx context.Context, _ []string) int { return p.doctor(ctx, *explain) })
	return c
}

func (p *program) doctor(ctx context.Context, explain bool) int {
	root, err := workingFolder()
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp doctor:", err)
		return exitFailed
	}
	app.CleanPath(root)
	state := app.StateDir(p.env)
	set := p.settings(root)
	if explain {
		if err := set.WriteExplanation(p.stdout); err != nil {
			return exitFailed
		}
		return exitOK
	}
	w := p.stdout
	fmt.Fprintf(w, "agent-lsp %s, %s/%s\n", p.version, runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(w, "settings: %s\n", present(app.UserFile(p.env)))
	fmt.Fprintf(w, "workspace: %s (%s)\n", root, present(root+"/"+config.WorkspaceName))
	if what := app.TooLarge(root, p.env); what != "" {
		fmt.Fprintf(w, "notice: the workspace is %s. agent-lsp asks before the agent may use all "+
			"of it. Without an answer, the agent can use only files that are open in the editor. "+
			"Start agent-lsp in a project folder\n", what)
	}
	fmt.Fprintf(w, "state: %s\n", state)
	if err := app.CheckState(state); err != nil {
		fmt.Fprintf(w, "notice: %s cannot be written (%v): agent-lsp deletes new data when it exits; make it writable, or set XDG_STATE_HOME\n", state, err)
	}
	for _, n := range set.Notices() {
		fmt.Fprintf(w, "notice: %s\n", n)
	}
	for _, fault := range app.Faults(*set.Config(), p.env, root) {
		fmt.Fprintf(w, "notice: %s\n", fault)
	}
	for _, line := range slices.Concat(
		app.DescribeSandbox(set.Config()), app.DescribeHosts(set.Config()),
		app.DescribeCatalog(set.Config(), p.env),
	) {
		fmt.Fprintln(w, line)
	}
	if lack := app.ShellLacks(); lack != "" {
		fmt.Fprintf(w, "notice: %s\n", lack)
	}
	if sources := app.KeySources(set.Config(), p.env); len(sources) > 0 {
		fmt.Fprintf(w, "keys: %s\n", strings.Join(sources, ", "))
	}
	code := p.doctorProvider(ctx, w, set.Config())
	for _, n := range set.Notices() {
		if n.Invalid && n.Path == "" {
			fmt.Fprintf(w, "next: fix the %s first; until then it is ignored\n", n.Layer)
		}
	}
	return code
}

func present(path string) string {
	if _, err := os.Stat(path); err != nil {
		return path + ", which does not exist"
	}
	return path
}

// doctorProvider requests the list of models from the provider.
func (p *program) doctorProvider(ctx context.Context, w io.Writer, c *config.Config) int {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	probe, err := app.NewProbe(p.env)
	if err != nil {
		return p.fail("doctor", err)
	}
	defer probe.Close()
	e, err := probe.Endpoint(ctx, c)
	var unset *config.NotConfiguredError
	if errors.As(err, &unset) {
		fmt.Fprintf(w, "provider: none. %s\nnext: %s\n", unset.Reason, unset.Hint)
		return exitNoProvider
	}
	if err != nil {
		fmt.Fprintf(w, "provider: %s\n", err)
		return exitFailed
	}
	fmt.Fprintf(w, "provider: %s at %s\n", e.Name, e.URL)
	ids, problem, hint := probe.Models(ctx, c)
	if problem != "" {
		fmt.Fprintf(w, "models: no response: %s\nnext: %s\n", problem, hint)
		return exitFailed
	}
	writeModels(w, ids, cmp.Or(configured(c), e.Model), prefix(c))
	return exitOK
}

// writeModels prints the selected model and whether the provider lists it. Some providers accept
// models that they do not list. prefix is the prefix of references to the provider's models.
func writeModels(w io.Writer, ids []string, using, prefix string) {
	using = cmp.Or(using, config.ChatModel(ids), "none")
	fmt.Fprintf(w, "models: %d, using %s", len(ids), using)
	if len(ids) == 0 || slices.Contains(ids, using) {
		fmt.Fprintln(w, "\nnext: start an editor, or try `agent-lsp run \"say hello\"`")
		return
	}
	fmt.Fprint(w, ", which is not one of them")
	if near := near.Of(using, ids); near != "" {
		fmt.Fprintf(w, "; %s is", near)
	}
	fmt.Fprintln(w, "\nnext: try `agent-lsp run \"say hello\"`; if the provider refuses the model, set \"model\" or OPENAI_MODEL to a listed one, such as", prefix+config.ChatModel(ids))
}
