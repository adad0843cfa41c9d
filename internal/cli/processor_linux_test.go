package cli

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time that this process has used so far, on all processors.
func processorTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
