package rpc

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// processEnd returns a channel that is closed when the process ends, or nil if it is not running.
// It waits on a pidfd instead of polling. If the kernel does not support pidfds, it polls.
func processEnd(ctx context.Context, pid int) <-chan struct{} {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return poll(ctx, func() bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) })
	}
	return pidfdEnd(ctx, fd)
}

// pidfdEnd returns a channel that is closed when the process of the pidfd ends. The end of ctx
// wakes the waiting goroutine through a pipe.
func pidfdEnd(ctx context.Context, fd int) <-chan struct{} {
	ended := make(chan struct{})
	var wake [2]int
	if unix.Pipe2(wake[:], unix.O_CLOEXEC) != nil {
		unix.Close(fd)
		return nil
	}
	stop := context.AfterFunc(ctx, func() { unix.Close(wake[1]) })
	go func() {
		defer unix.Close(fd)
		defer unix.Close(wake[0])
		fds := []unix.PollFd{
			{Fd: int32(fd), Events: unix.POLLIN},
			{Fd: int32(wake[0]), Events: unix.POLLIN},
		}
		for {
			if _, err := unix.Poll(fds, -1); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if fds[0].Revents != 0 {
			if stop() {
				unix.Close(wake[1])
			}
			close(ended)
		}
	}()
	return ended
}
