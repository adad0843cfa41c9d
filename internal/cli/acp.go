package cli

import (
	"context"
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/app"
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
	if flags.Arg(0) == "login" { // a client's terminal appends the arguments of the login
		return runLogin(ctx, p, flags.Args()[1:])
	}
	if p.unexpected(flags) {
		return exitUsage
	}
	p.sayWhoSpeaks("the Agent Client Protocol")
	err := p.withLog(f, func(o app.Options) error { return app.ServeACP(ctx, o) })
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp:", err)
		return exitFailed
	}
	return exitOK
}
