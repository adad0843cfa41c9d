package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

// version is stamped by the release build.
var version = "0.1.0-dev"

// The exit codes of protocol section 9.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNoProvider = 3
	exitAborted    = 130
)

// program is what a run of the command gets from outside, so that tests run it in-process.
type program struct {
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// endings says how a command ends, where that is of use to a script.
var endings = map[string]string{
	"run": "\nexit codes: 0 completed, 1 failed, 2 wrong usage, 3 no provider is configured, 130 aborted\n" +
		"Ctrl-C aborts the turn. Without a terminal, what would have to ask is refused; the turn goes on and exits with 0.\n",
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
		{"run", `"prompt"`, "one turn without an editor", runHeadless},
		{"demo", `[--workspace DIR ["prompt"]]`, "see the whole job, with no key and no network", runDemo},
		{"doctor", "", "say what is configured, what answers and what to do next", runDoctor},
		{"sessions", "list | show ID | export ID", "look at stored sessions; export --record FILE makes a test of one", runSessions},
		{"trust", "[yes|no|ask]", "see or say whether this workspace's own settings may loosen yours", runTrust},
		{"schema", "[json|typescript|lua]", "print the wire's types", runSchema},
		{"bundle", "FILE.tar.gz", "gather what a report of a mistake needs, without secrets", runBundle},
		{"completion", "bash | zsh | fish", "print completions for a shell", runCompletion},
		{"version", "", "print the version", runVersion},
		{"help", "[COMMAND]", "print this text, or what a command takes", runHelp},
	}
}

// run runs the program and returns its exit code.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
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
	fmt.Fprintf(p.stderr, "agent-lsp: there is no command %q%s; `agent-lsp help` lists them\n", name, meant("", name, strings.Fields(names())))
	return exitUsage
}

// lookup returns a variable of an environment, the last one where it stands twice.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
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
	fmt.Fprintf(p.stdout, "agent-lsp %s%s %s %s/%s\n", version, rev, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
		fmt.Fprintf(p.stdout, "%s\n\n  %s\n", strings.TrimSpace("agent-lsp "+c.name+" "+c.args), c.summary)
		writeFlags(p.stdout, *c)
		fmt.Fprint(p.stdout, endings[c.name])
		return exitOK
	}
	fmt.Fprint(p.stdout, "agent-lsp is a coding agent that any editor starts like a language server.\n\nusage: agent-lsp [command] [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(p.stdout, "  %-10s %-30s %s\n", c.name, c.args, c.summary)
	}
	fmt.Fprint(p.stdout, "\nThe model is named by settings, or by OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL; without any,\na local OpenAI-compatible server is looked for. `agent-lsp doctor` says what was found.\n`agent-lsp help COMMAND` lists the flags of a command.\n")
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
