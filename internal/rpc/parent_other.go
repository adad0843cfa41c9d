//go:build !unix && !windows

package rpc

import "context"

// processEnd cannot watch a process on this system. The end of stdin also reports that the client
// is gone.
func processEnd(context.Context, int) <-chan struct{} { return nil }
