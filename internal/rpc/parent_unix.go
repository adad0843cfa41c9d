//go:build unix && !linux

package rpc

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// processEnd returns a channel that is closed when the process ends, nil if it does not run.
func processEnd(ctx context.Context, pid int) <-chan struct{} {
	return poll(ctx, func() bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) })
}
