//go:build !unix && !windows

package rpc

import "context"

// processEnd returns nil, because this system offers no way to watch a process. agent-lsp still
// detects the end of the client by the end of stdin.
func processEnd(context.Context, int) <-chan struct{} { return nil }
