package launcher

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// DropPrivileges removes every capability from this thread and from the processes that it starts,
// and sets no_new_privs. Otherwise, a program that root starts would regain its capabilities, so
// DropPrivileges empties the bounding set too. An ordinary user may not change the bounding set and
// does not need to: with no_new_privs, no program can gain a capability.
func DropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	for c := 0; ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break // the number is beyond the kernel's last capability, or the call is not allowed
		}
		if err != nil {
			return fmt.Errorf("dropping capability %d from the bounding set: %w", c, err)
		}
	}
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EINVAL) { // kernels before 4.3 have no ambient set
		return fmt.Errorf("clearing the ambient capabilities: %w", err)
	}
	return dropCapabilities()
}

// dropCapabilities removes every capability from this thread, but programs of root may regain them.
func dropCapabilities() error {
	var none [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("dropping the capabilities: %w", err)
	}
	return nil
}
