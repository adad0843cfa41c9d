package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/agent-lsp/agent-lsp/internal/agent"
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
		in = rpc.UnblockedInput(file)
	}
	if file, ok := out.(*os.File); ok {
		out = rpc.Unblocked(file)
	}
	o := coreOptions{log: log, redact: redact, env: osEnviron(p.env), scriptFile: f.script, stateDir: f.stateDir, starts: agent.NewStarts(runtime.GOMAXPROCS(0))}
	core := func(ctx context.Context, opts rpc.Options, terminal acp.Terminal) error {
		o := o
		o.terminal = terminal
		opts.Start = func(_ context.Context, init rpc.Init) (*rpc.Core, error) { return newCore(init, o) }
		return rpc.Serve(ctx, opts)
	}
	if err := acp.Serve(ctx, acp.Options{In: in, Out: out, Log: log, Version: version, Ahead: launchFolder(p.env), Core: core}); err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp:", err)
		return exitFailed
	}
	return exitOK
}

// launchFolder is the working directory where it may be a project: an editor that is started from a menu is in the
// home folder or in the file system's root, and starts its agents there.
func launchFolder(env []string) string {
	dir, err := os.Getwd()
	if err != nil || dir == filepath.Dir(dir) || sameFolder(dir, lookup(env, "HOME")) {
		return ""
	}
	return dir
}

func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}
