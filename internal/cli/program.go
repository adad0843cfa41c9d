// Package cli is the command line: one file for each subcommand, the demo, and the small LSP client
// with which run and demo speak to a daemon. Start at Run.
package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/near"
)

// The exit codes (docs/reference/commands.md).
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNoProvider = 3
	exitAborted    = 130
)

// program is what a run of the command gets from outside, so that tests run it in-process.
type program struct {
	version        string
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// endings says how a command ends, where that is of use to a script.
var endings = map[string]string{
	"run": "\nexit codes: 0 completed, 1 failed, 2 wrong usage, 3 no provider is configured, 130 aborted\n" +
		"Ctrl-C aborts the turn. Without a terminal, every question is refused; the turn continues, and the exit code is 0.\n",
	"demo": "\nexit codes: 0 done, 1 failed, 2 wrong usage, 3 no provider is configured, 130 interrupted\n",
}

// command is a subcommand.
type command struct {
	name, args, summary string
	run                 func(ctx context.Context, p *program, args []string) int
}

// commands are listed in the order of `agent-lsp help`.
var commands []command

func init() {
	commands = []command{
		{"serve", "", "speak LSP on stdio (the default)", runServe},
		{"acp", "", "speak the Agent Client Protocol on stdio", runACP},
		{"run", `"prompt"`, "run one turn without an editor", runHeadless},
		{"demo", `[--workspace DIR ["prompt"]]`,
			"show a whole turn on a sample project, without a key or network", runDemo},
		{"doctor", "", "report what is configured, what responds and what to do next", runDoctor},
		{"models", "[FILTER] [--provider NAME]",
			"list the models with their windows, prices and abilities", runModels},
		{"login", "NAME [--stdin]", "store the key of a model provider", runLogin},
		{"logout", "NAME", "delete the stored key of a model provider", runLogout},
		{"sessions", "list | show ID | export ID", "list, show and export stored sessions",
			runSessions},
		{"trust", "[yes|no|ask]", "show or set whether this workspace's settings may loosen yours",
			runTrust},
		{"schema", "[json|typescript|lua]", "print the protocol's types", runSchema},
		{"bundle", "FILE.tar.gz", "collect what a bug report needs, without secrets", runBundle},
		{"completion", "bash | zsh | fish", "print the completion script for a shell",
			runCompletion},
		{"version", "", "print the version", runVersion},
		{"help", "[COMMAND]", "print this text, or the help for a command", runHelp},
	}
}

// RunHelper does not return if this process was started to supervise the commands of a daemon. The
// program calls it before anything else.
func RunHelper() { app.RunHelper() }

// Run runs the program and returns its exit code. It returns when the command has ended, or soon
// after ctx ends. The caller owns the streams.
func Run(
	ctx context.Context,
	version string,
	args, env []string,
	stdin io.Reader,
	stdout, stderr io.Writer,
) int {
	p := &program{version: version, env: env, stdin: stdin}
	p.stdout, p.stderr = onScreen(stdout), onScreen(stderr)
	if len(args) > 0 && args[0] == "--version" {
		return runVersion(ctx, p, args[1:])
	}
	if len(args) > 0 && asksForHelp(args[0]) {
		return runHelp(ctx, p, nil)
	}
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if len(args) > 0 && asksForHelp(args[0]) {
		return runHelp(ctx, p, []string{name})
	}
	if c := find(name); c != nil {
		return c.run(ctx, p, args)
	}
	return p.noCommand(name)
}

func asksForHelp(arg string) bool { return arg == "-h" || arg == "--help" || arg == "-help" }

// noCommand says that there is no such command.
func (p *program) noCommand(name string) int {
	fmt.Fprintf(p.stderr, "agent-lsp: unknown command %q%s; `agent-lsp help` lists the commands\n",
		name, near.Suggestion("", name, strings.Fields(names())))
	return exitUsage
}

func runVersion(_ context.Context, p *program, args []string) int {
	flags := p.flags("version")
	if err := p.parse(flags, args); err != nil {
		return usageCode(err)
	}
	if p.unexpected(flags) {
		return exitUsage
	}
	rev := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				rev = " " + s.Value[:12]
			}
		}
	}
	fmt.Fprintf(p.stdout, "agent-lsp %s%s %s %s/%s\n", p.version, rev, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
	return exitOK
}

func runHelp(_ context.Context, p *program, args []string) int {
	if len(args) > 0 {
		c := find(args[0])
		if c == nil {
			return p.noCommand(args[0])
		}
		if len(args) > 1 {
			return p.unexpectedArg("agent-lsp help", args[1])
		}
		fmt.Fprintf(p.stdout, "%s\n\n  %s\n", strings.TrimSpace("agent-lsp "+c.name+" "+c.args),
			c.summary)
		writeFlags(p.stdout, *c)
		fmt.Fprint(p.stdout, endings[c.name])
		return exitOK
	}
	fmt.Fprint(p.stdout, "agent-lsp is a coding agent that any editor can start like a language server.\n\nusage: agent-lsp [command] [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(p.stdout, "  %-10s %-30s %s\n", c.name, c.args, c.summary)
	}
	fmt.Fprint(p.stdout, "\nThe settings choose the model, or OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL. Without them,\nagent-lsp looks for a local OpenAI-compatible server. `agent-lsp doctor` reports what it found.\n`agent-lsp help COMMAND` lists the flags of a command.\n")
	return exitOK
}

func find(name string) *command {
	for i := range commands {
		if commands[i].name == name {
			return &commands[i]
		}
	}
	return nil
}
