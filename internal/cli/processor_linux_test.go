package cli

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what this process has used of all processors so far.
func processorTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
