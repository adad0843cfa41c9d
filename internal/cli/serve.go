package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-lsp/agent-lsp/internal/app"
)

// serveFlags are the flags of the commands that run a daemon.
type serveFlags struct {
	logFile, script, stateDir string
	verbose, wholeFolder      bool
}

// register adds the flags of the commands that run a daemon.
func (f *serveFlags) register(flags *pflag.FlagSet, env []string) {
	flags.StringVar(&f.logFile, "log-file", "", "write the log to this file instead of stderr")
	flags.StringVar(&f.script, "script", app.Lookup(env, "AGENT_LSP_SCRIPT"),
		"use this scripted model instead of a provider")
	flags.StringVar(&f.stateDir, "state-dir", "",
		"store sessions, checkpoints and grants in this folder")
	flags.BoolVar(&f.wholeFolder, "whole-folder", false,
		"allow the home folder or / as the workspace without asking")
}

// sayWhoSpeaks explains to a user who started the daemon manually that the daemon waits for a
// client.
func (p *program) sayWhoSpeaks(protocol string) {
	if isTerminal(p.stdin) {
		fmt.Fprintf(p.stderr, "agent-lsp is waiting for an editor that speaks %s on stdin. Press Ctrl-C to stop it. `agent-lsp help` lists the commands, and `agent-lsp demo` shows how it works.\n", protocol)
	}
}

// serveCommand returns the command that speaks LSP on stdio until the client disconnects.
func (p *program) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "serve", Short: "speak LSP on stdio (the default)", Args: noArguments,
		Run: p.does(func(ctx context.Context, _ []string) int { return p.serve(ctx, f) }),
	}
	f.register(c.Flags(), p.env)
	c.Flags().BoolVar(&f.verbose, "verbose", false, "log more")
	c.Flags().Bool("stdio", true,
		"accepted for clients that pass it; stdio is the only transport")
	return c
}

func (p *program) serve(ctx context.Context, f serveFlags) int {
	p.sayWhoSpeaks("LSP")
	if err := serve(ctx, p, f, p.stdin, p.stdout); err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp:", err)
		return exitFailed
	}
	return exitOK
}

// serve speaks LSP on in and out.
func serve(ctx context.Context, p *program, f serveFlags, in io.Reader, out io.Writer) error {
	return p.withLog(f, func(o app.Options) error {
		o.In, o.Out = in, out
		return app.ServeLSP(ctx, o)
	})
}

// withLog opens the log and calls run with the daemon's options from the flags.
func (p *program) withLog(f serveFlags, run func(app.Options) error) error {
	o := app.Options{
		Version: p.version, Env: p.env, In: p.stdin, Out: p.stdout, Log: p.stderr,
		Verbose: f.verbose, Script: f.script, StateDir: f.stateDir,
		WholeFolder: f.wholeFolder,
	}
	if f.logFile == "" {
		return run(o)
	}
	file, err := os.OpenFile(f.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer file.Close()
	o.Log = file
	return run(o)
}
