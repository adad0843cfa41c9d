// Command agent-lsp is a coding agent that any editor starts like a language server.
//
// Without arguments it speaks the Language Server Protocol on stdio. The wiring of its
// parts is in core.go; each subcommand has a file of its own. Start at run in program.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

func main() {
	shell.MaybeHelper() // a child of our own that supervises commands never gets further
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
