//go:build !unix && !windows

package rpc

import "context"

// processEnd knows no way to watch a process here; the end of stdin tells as well.
func processEnd(context.Context, int) <-chan struct{} { return nil }
