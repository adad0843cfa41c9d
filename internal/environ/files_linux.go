package environ

import (
	"math"

	"golang.org/x/sys/unix"
)

// markInherited sets the close-on-exec flag of all inherited descriptors. Kernels before 5.11 do
// not support this flag of close_range.
func markInherited() error {
	return unix.CloseRange(firstInherited, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
}
