// Command agent-lsp is a coding agent that any editor can start like a language server.
//
// Without arguments it speaks the Language Server Protocol on stdio. Package cli contains the
// commands, and package app connects the components of the daemon.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/agent-lsp/agent-lsp/internal/cli"
)

// The release build sets version.
var version = "0.1.0-dev"

func main() {
	cli.RunHelper()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Run(ctx, version, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
