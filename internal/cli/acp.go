package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/app"
)

// acpCommand returns the command that speaks the Agent Client Protocol until the client
// disconnects.
func (p *program) acpCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "acp", Short: "speak the Agent Client Protocol on stdio", Args: noArguments,
		Run: p.does(func(ctx context.Context, _ []string) int { return p.acp(ctx, f) }),
	}
	f.register(c.Flags(), p.env)
	c.Flags().BoolVar(&f.verbose, "verbose", false, "log more")
	// To log in, a client runs its agent command with "login" appended.
	login := p.loginCommand()
	login.Hidden = true
	c.AddCommand(login)
	return c
}

func (p *program) acp(ctx context.Context, f serveFlags) int {
	p.sayWhoSpeaks("the Agent Client Protocol")
	err := p.withLog(f, func(o app.Options) error { return app.ServeACP(ctx, o) })
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp:", err)
		return exitFailed
	}
	return exitOK
}
