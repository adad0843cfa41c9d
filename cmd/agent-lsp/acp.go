package main

import (
	"context"
	"fmt"
	"os"

	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp"
)

// runACP speaks the Agent Client Protocol on stdio until the client leaves.
func runACP(ctx context.Context, p *program, args []string) int {
	var f serveFlags
	flags := p.flags("acp")
	f.register(flags, p.env)
	flags.BoolVar(&f.verbose, "verbose", false, "log more")
	if err := p.parse(flags, args); err != nil {
		return usageCode(err)
	}
	if p.unexpected(flags) {
		return exitUsage
	}
	p.sayWhoSpeaks("the Agent Client Protocol")
	redact := policy.NewRedactor(secretsIn(p.env)...)
	log, closeLog, err := openLog(p, f, redact)
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp:", err)
		return exitFailed
	}
	defer closeLog()
	in, out := p.stdin, p.stdout
	if file, ok := in.(*os.File); ok {
		in = rpc.Unblocked(file)
	}
	if file, ok := out.(*os.File); ok {
		out = rpc.Unblocked(file)
	}
	o := coreOptions{log: log, redact: redact, env: osEnviron(p.env), scriptFile: f.script, stateDir: f.stateDir}
	core := func(ctx context.Context, opts rpc.Options, terminal acp.Terminal) error {
		o := o
		o.terminal = terminal
		opts.Start = func(_ context.Context, init rpc.Init) (*rpc.Core, error) { return newCore(init, o) }
		return rpc.Serve(ctx, opts)
	}
	if err := acp.Serve(ctx, acp.Options{In: in, Out: out, Log: log, Version: version, Core: core}); err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp:", err)
		return exitFailed
	}
	return exitOK
}
