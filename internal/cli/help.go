package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpCommand returns `agent-lsp help`, which prints what `--help` prints.
func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "print this text, or the help for a command",
		ValidArgsFunction: completeCommands,
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			switch {
			case err == nil && len(rest) == 0:
				p.help(found, nil)
				return nil
			case err != nil || found == c.Root():
				p.code = exitUsage
				fmt.Fprintf(p.stderr, "agent-lsp: %v\n", unknownCommand(c.Root(), args[0]))
				return nil
			}
			return unexpected(rest[0])
		},
	}
}

// completeCommands completes the subcommands of the command that the user typed.
func completeCommands(
	c *cobra.Command, args []string, _ string,
) (names []string, d cobra.ShellCompDirective) {
	if found, rest, err := c.Root().Find(args); err == nil && len(rest) == 0 {
		for _, sub := range listed(found) {
			names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// help prints the help for a command. Cobra calls it for `--help`.
func (p *program) help(c *cobra.Command, _ []string) {
	if c == c.Root() {
		if arg := c.Flags().Arg(0); arg != "" { // for example: agent-lsp nonsense --help
			p.code = exitUsage
			fmt.Fprintf(p.stderr, "agent-lsp: %v\n", unknownCommand(c, arg))
			return
		}
		p.overview(c)
		return
	}
	fmt.Fprintf(p.stdout, "%s\n\n  %s\n", usageLine(c), c.Short)
	p.listCommands(c)
	if flags := c.LocalFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(p.stdout, "\nflags:\n%s", flags.FlagUsages())
	}
	if c.Long != "" {
		fmt.Fprintf(p.stdout, "\n%s\n", c.Long)
	}
}

// usageLine returns the command line of a command.
func usageLine(c *cobra.Command) string {
	return strings.TrimSuffix(c.Parent().CommandPath()+" "+c.Use, " ")
}

// overview prints a description of the program and the list of its commands.
func (p *program) overview(root *cobra.Command) {
	fmt.Fprintf(p.stdout, "%s\n\nusage: agent-lsp [command] [flags]\n", root.Short)
	p.listCommands(root)
	fmt.Fprint(p.stdout, "\n"+
		"The model comes from the settings, or from OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL. "+
		"Without them,\nagent-lsp looks for a local OpenAI-compatible server. "+
		"`agent-lsp doctor` reports what it found.\n"+
		"`agent-lsp help COMMAND` lists the flags of a command.\n")
}

// listCommands prints one line per subcommand.
func (p *program) listCommands(c *cobra.Command) {
	for i, sub := range listed(c) {
		if i == 0 {
			fmt.Fprintln(p.stdout)
		}
		name, args, _ := strings.Cut(sub.Use, " ")
		fmt.Fprintf(p.stdout, "  %-10s %-30s %s\n", name, args, sub.Short)
	}
}
