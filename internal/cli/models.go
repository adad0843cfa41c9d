package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// modelsCommand returns the command that lists the models that the settings can name, with their
// context window, price and capabilities.
func (p *program) modelsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "models [FILTER] [--provider NAME]",
		Short: "list the models with their context windows, prices and capabilities",
		Args:  atMost(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	asJSON := c.Flags().Bool("json", false, "print the list in the format of agent/models")
	provider := c.Flags().String("provider", "", "list only the models of this provider")
	if err := c.RegisterFlagCompletionFunc("provider", p.completeProviders); err != nil {
		panic(err) // the flag was added above
	}
	c.Run = p.does(func(ctx context.Context, args []string) int {
		return p.models(ctx, strings.Join(args, ""), *provider, *asJSON)
	})
	return c
}

func (p *program) models(ctx context.Context, filter, provider string, asJSON bool) int {
	root, err := workingFolder()
	if err != nil {
		return p.fail("models", err)
	}
	set := p.settings(root)
	names := set.Config().ProviderNames()
	if err := noneOf(provider, names); provider != "" && err != nil {
		return p.wrong("models", err)
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	probe, err := app.NewProbe(p.env)
	if err != nil {
		return p.fail("models", err)
	}
	defer probe.Close()
	list, err := listModels(ctx, probe, set.Config(), provider)
	var unset *config.NotConfiguredError
	if errors.As(err, &unset) {
		p.fail("models", err)
		return exitNoProvider
	}
	if err != nil {
		return p.fail("models", err)
	}
	list = matching(list, filter)
	if asJSON {
		fmt.Fprintf(p.stdout, "%s\n", encodeArgs(map[string]any{"models": list}))
		return exitOK
	}
	writeModelTable(p.stdout, list, configured(set.Config()))
	return exitOK
}

func listModels(
	ctx context.Context, probe *app.Probe, c *config.Config, provider string,
) ([]wire.Model, error) {
	if provider == "" {
		return probe.AllModels(ctx, c)
	}
	return probe.ModelsOf(ctx, c, provider)
}

// matching returns the models whose ID or name contains text, ignoring case.
func matching(list []wire.Model, text string) []wire.Model {
	text = strings.ToLower(text)
	out := []wire.Model{}
	for _, m := range list {
		if strings.Contains(strings.ToLower(m.ID+"\n"+m.Name), text) {
			out = append(out, m)
		}
	}
	return out
}

// configured returns the configured model in the form in which the list shows it. Models of the
// default provider have no provider prefix.
func configured(c *config.Config) string {
	if ref := c.Reference(c.Model); ref.Provider == c.DefaultProvider() {
		return ref.Model
	}
	return c.Model
}

// prefix returns the prefix of references to models of the default provider, or "" if it has no
// name.
func prefix(c *config.Config) string {
	if name := c.DefaultProvider(); name != "" {
		return name + "/"
	}
	return ""
}

// settings loads the settings that apply to a folder.
func (p *program) settings(root string) *config.Set {
	trust := config.NewTrustFile(app.StateDir(p.env) + "/trust.json")
	return config.Load(config.Sources{
		UserFile: app.UserFile(p.env), Root: root, Environ: p.env, Trust: trust,
	})
}

// writeModelTable prints one row per model and marks the configured one.
func writeModelTable(out io.Writer, list []wire.Model, using string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  model\twindow\treply\t$ per million in/out\tcan\tname")
	for _, m := range list {
		mark := " "
		if m.ID == using {
			mark = "*"
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\t%s\t%s\n",
			mark, m.ID, tokens(m.ContextWindow), tokens(m.MaxOutput), price(m.Cost), abilities(m),
			m.Name)
	}
	_ = w.Flush()
}

// tokens formats a number of tokens in a short form. An unknown number becomes "-".
func tokens(n int) string {
	switch {
	case n == 0:
		return "-"
	case n >= 1_000_000:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64), ".0") + "M"
	case n >= 1000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

func price(c *wire.ModelCost) string {
	if c == nil {
		return "-"
	}
	return fmt.Sprintf("%g / %g", c.Input, c.Output)
}

// abilities returns the known capabilities of a model.
func abilities(m wire.Model) string {
	var can []string
	if m.Tools != nil && *m.Tools {
		can = append(can, "tools")
	}
	if m.Vision != nil && *m.Vision {
		can = append(can, "images")
	}
	if len(m.Thinking) > 0 {
		can = append(can, "thinking")
	}
	if m.Tools != nil && !*m.Tools {
		can = append(can, "no tools")
	}
	if len(can) == 0 {
		return "-"
	}
	return strings.Join(can, ", ")
}
