//go:build amd64 || arm64

package launcher

import (
	"strconv"

	"golang.org/x/sys/unix"
)

func (c *call) chmod() (int64, error) {
	p, err := c.changeableTarget(c.args[0], c.args[1], c.args[3]&unix.AT_SYMLINK_NOFOLLOW == 0)
	if err != nil {
		return 0, elsewhere(err, c.args[2])
	}
	fd, err := c.pin(p)
	if err != nil {
		return 0, err
	}
	return 0, setMode(fd, uint32(c.args[2]))
}

// elsewhere refuses a call if its mode contains a bit of setids and err would hand the call back to
// the kernel. The kernel could set that bit on a workspace file that the broker opened for the
// command.
func elsewhere(err error, mode uint64) error {
	if err == errElsewhere && mode&setids != 0 {
		return unix.EPERM
	}
	return err
}

// setMode changes the mode of a pinned file.
func setMode(fd int, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if mode&setids != 0 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.EPERM
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode&0o7777)
}

// fchmod changes the mode of the file that a descriptor refers to. tar opens folders for reading
// and then sets their modes.
func (c *call) fchmod() (int64, error) {
	p, err := c.opened(c.args[0])
	if err != nil {
		return 0, elsewhere(err, c.args[1])
	}
	fd, err := c.pin(p)
	if err != nil {
		return 0, err
	}
	return 0, setMode(fd, uint32(c.args[1]))
}
