package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc"
)

// serveFlags are the flags of serve; run takes the same.
type serveFlags struct {
	logFile, script, stateDir string
	verbose                   bool
}

// register adds the flags that every command has that is a daemon, or has one within.
func (f *serveFlags) register(flags *flag.FlagSet, env []string) {
	flags.StringVar(&f.logFile, "log-file", "", "write the log there instead of stderr")
	flags.StringVar(&f.script, "script", lookup(env, "AGENT_LSP_SCRIPT"), "play this scripted model instead of asking a provider")
	flags.StringVar(&f.stateDir, "state-dir", "", "keep sessions, checkpoints and grants there")
}

// sayWhoSpeaks tells a person who started the daemon by hand why it waits.
func (p *program) sayWhoSpeaks(protocol string) {
	if isTerminal(p.stdin) {
		fmt.Fprintf(p.stderr, "agent-lsp waits for an editor, which speaks %s on its stdin. Ctrl-C ends it; `agent-lsp help` says what else it does, `agent-lsp demo` shows it.\n", protocol)
	}
}

// runServe speaks LSP on stdio until the client leaves.
func runServe(ctx context.Context, p *program, args []string) int {
	var f serveFlags
	flags := p.flags("serve")
	f.register(flags, p.env)
	flags.BoolVar(&f.verbose, "verbose", false, "log more")
	flags.Bool("stdio", true, "accepted for clients that pass it; stdio is the only way")
	if err := p.parse(flags, args); err != nil {
		return usageCode(err)
	}
	if p.unexpected(flags) {
		return exitUsage
	}
	p.sayWhoSpeaks("LSP")
	if err := serve(ctx, p, f, p.stdin, p.stdout); err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp:", err)
		return exitFailed
	}
	return exitOK
}

// serve speaks LSP over in and out.
func serve(ctx context.Context, p *program, f serveFlags, in io.Reader, out io.Writer) error {
	redact := policy.NewRedactor(secretsIn(p.env)...)
	log, closeLog, err := openLog(p, f, redact)
	if err != nil {
		return err
	}
	defer closeLog()
	if file, ok := in.(*os.File); ok {
		in = rpc.UnblockedInput(file)
	}
	if file, ok := out.(*os.File); ok {
		out = rpc.Unblocked(file)
	}
	o := coreOptions{log: log, redact: redact, env: osEnviron(p.env), scriptFile: f.script, stateDir: f.stateDir, starts: agent.NewStarts(runtime.GOMAXPROCS(0))}
	err = rpc.Serve(ctx, rpc.Options{In: in, Out: out, Log: log, Version: version,
		Start: func(_ context.Context, init rpc.Init) (*rpc.Core, error) { return newCore(init, o) }})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// openLog returns the log, which never holds a secret that redact knows.
func openLog(p *program, f serveFlags, redact *policy.Redactor) (*slog.Logger, func(), error) {
	var w io.Writer = p.stderr
	done := func() {}
	if f.logFile != "" {
		file, err := os.OpenFile(f.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the log: %w", err)
		}
		w, done = file, func() { file.Close() }
	}
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelDebug
	}
	w = redacting{w, redact}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})), done, nil
}

// redacting takes secrets out of each line of the log.
type redacting struct {
	w io.Writer
	r *policy.Redactor
}

func (r redacting) Write(b []byte) (int, error) {
	if _, err := r.w.Write(r.r.Bytes(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
