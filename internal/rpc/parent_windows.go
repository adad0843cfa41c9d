package rpc

import (
	"context"

	"golang.org/x/sys/windows"
)

// processEnd returns a channel that is closed when the process ends, or nil if it is not running or
// cannot be opened.
func processEnd(ctx context.Context, pid int) <-chan struct{} {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return nil
	}
	alive := func() bool {
		state, err := windows.WaitForSingleObject(h, 0)
		return err == nil && state == uint32(windows.WAIT_TIMEOUT)
	}
	ended := poll(ctx, alive)
	if ended == nil {
		windows.CloseHandle(h)
		return nil
	}
	context.AfterFunc(ctx, func() { windows.CloseHandle(h) })
	return ended
}
