package environ

import (
	"math"

	"golang.org/x/sys/unix"
)

// markInherited marks all descriptors in one call, which kernels before 5.11 do not have.
func markInherited() error {
	return unix.CloseRange(firstInherited, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
}
