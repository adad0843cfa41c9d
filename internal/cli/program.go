// Package cli implements the command line: the subcommands, including the demo, and a small LSP
// client. The run and demo commands use this client to communicate with a daemon. Start reading at
// Run.
package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/near"
)

// The exit codes of the program (docs/reference/commands.md).
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNoProvider = 3
	exitAborted    = 130
)

// program contains the environment and the streams of one run of the command. Tests use it to run
// the command in-process.
type program struct {
	version        string
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	code           int // exit code of the command that was run
}

// action runs a command with its non-flag arguments and returns its exit code.
type action func(ctx context.Context, args []string) int

// The help lists the commands in the order in which the commands method adds them.
func init() { cobra.EnableCommandSorting = false }

// RunHelper does not return if this process was started to supervise the commands of a daemon. The
// program must call it before anything else.
func RunHelper() { app.RunHelper() }

// Run runs the program and returns its exit code. It returns when the command has ended, or soon
// after ctx is canceled. The caller owns the streams.
func Run(
	ctx context.Context,
	version string,
	args, env []string,
	stdin io.Reader,
	stdout, stderr io.Writer,
) int {
	p := &program{version: version, env: env, stdin: stdin}
	p.stdout, p.stderr = onScreen(stdout), onScreen(stderr)
	return p.execute(ctx, args)
}

// execute runs the command that the arguments name. Without a command, it runs serve, because
// editors start the program without arguments or with --stdio.
func (p *program) execute(ctx context.Context, args []string) int {
	switch {
	case len(args) > 0 && args[0] == "--version":
		args = append([]string{"version"}, args[1:]...)
	case len(args) > 0 && asksForHelp(args[0]):
		args = []string{"help"}
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		args = append([]string{"serve"}, args...)
	}
	root := p.commands()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	if cmd, err := root.ExecuteContextC(ctx); err != nil {
		fmt.Fprintf(p.stderr, "%s: %v\n", cmd.CommandPath(), err)
		return exitUsage
	}
	return p.code
}

func asksForHelp(arg string) bool { return arg == "-h" || arg == "--help" }

// commands returns the tree of commands, in the order of `agent-lsp help`.
func (p *program) commands() *cobra.Command {
	root := &cobra.Command{
		Use: "agent-lsp", SilenceErrors: true, SilenceUsage: true,
		Short: "agent-lsp is a coding agent that any editor can start like a language server.",
		Args: func(root *cobra.Command, args []string) error {
			return unknownCommand(root, args[0])
		},
		Run: func(*cobra.Command, []string) {}, // every argument of the root command is an error
	}
	root.SetHelpFunc(p.help)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(p.helpCommand())
	root.AddCommand(
		p.serveCommand(), p.acpCommand(), p.runCommand(), p.demoCommand(), p.doctorCommand(),
		p.modelsCommand(), p.loginCommand(), p.logoutCommand(), p.sessionsCommand(),
		p.trustCommand(), p.schemaCommand(), p.bundleCommand(), p.completionCommand(),
		p.versionCommand(),
	)
	return root
}

// does wraps an action as a command's Run function.
func (p *program) does(do action) func(*cobra.Command, []string) {
	return func(c *cobra.Command, args []string) { p.code = do(c.Context(), args) }
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range listed(root) {
		names = append(names, c.Name())
	}
	return fmt.Errorf("unknown command %q%s; `agent-lsp help` lists the commands", name,
		near.Suggestion("", name, names))
}

// listed returns the subcommands that are not hidden.
func listed(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			list = append(list, sub)
		}
	}
	return list
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: noArguments,
		Run: p.does(func(context.Context, []string) int {
			fmt.Fprintf(p.stdout, "agent-lsp %s%s %s %s/%s\n", p.version, revision(),
				runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return exitOK
		}),
	}
}

// revision returns a space and the commit that the program was built from, or "" if the commit is
// unknown.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return " " + s.Value[:12]
		}
	}
	return ""
}
