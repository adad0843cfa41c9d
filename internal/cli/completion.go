package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// completionCommand returns the command that prints a shell's completion script. The script calls
// this program with cobra's hidden command __complete to get the completions.
func (p *program) completionCommand() *cobra.Command {
	write := map[string]func(*cobra.Command, io.Writer) error{
		"bash": func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":  (*cobra.Command).GenZshCompletion,
		"fish": func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
		"powershell": func(c *cobra.Command, w io.Writer) error {
			return c.GenPowerShellCompletionWithDesc(w)
		},
	}
	shells := []string{"bash", "zsh", "fish", "powershell"}
	c := &cobra.Command{
		Use:   "completion " + strings.Join(shells, " | "),
		Short: "print the completion script for a shell", ValidArgs: shells,
		Args: one(shells),
		Long: "In bash: source <(agent-lsp completion bash)\n" +
			"In zsh, after compinit: source <(agent-lsp completion zsh)\n" +
			"In fish: agent-lsp completion fish | source\n" +
			"In PowerShell: agent-lsp completion powershell | Out-String | Invoke-Expression",
	}
	c.Run = p.does(func(_ context.Context, args []string) int {
		if err := write[args[0]](c.Root(), p.stdout); err != nil {
			return p.fail("completion", err)
		}
		return exitOK
	})
	return c
}

// oneOf is the value of a flag that accepts one word of a list.
type oneOf struct {
	value string
	words []string
}

// Set implements pflag.Value. It returns an error for a word that is not in the list.
func (o *oneOf) Set(value string) error {
	if err := noneOf(value, o.words); err != nil {
		return err
	}
	o.value = value
	return nil
}

func (o *oneOf) String() string { return o.value }
func (o *oneOf) Type() string   { return "string" }

// choice adds a flag that accepts one of a list of words.
func choice(c *cobra.Command, name, value, usage string, words []string) *oneOf {
	o := &oneOf{value: value, words: words}
	c.Flags().Var(o, name, fmt.Sprintf(usage, strings.Join(words, ", ")))
	offer := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc(name, offer); err != nil {
		panic(err) // the flag was added above
	}
	return o
}

// folder adds a flag whose value is a folder.
func folder(c *cobra.Command, name, usage string) *string {
	dir := c.Flags().String(name, "", usage)
	if err := c.MarkFlagDirname(name); err != nil {
		panic(err) // the flag was added above
	}
	return dir
}
