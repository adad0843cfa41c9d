//go:build unix && !linux

package rpc

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// processEnd returns a channel that is closed when the process ends, or nil if it is not running.
func processEnd(ctx context.Context, pid int) <-chan struct{} {
	return poll(ctx, func() bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) })
}
