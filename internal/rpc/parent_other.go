//go:build !unix && !windows

package rpc

import "context"

// processEnd returns nil, because this system offers no way to watch a process. The end of stdin
// also reports that the client is gone.
func processEnd(context.Context, int) <-chan struct{} { return nil }
