//go:build unix

package environ

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor after stdin, stdout and stderr.
const firstInherited = 3

// KeepFiles prevents the programs that this process starts from inheriting descriptors that the
// process itself inherited. A command could otherwise escape from its sandbox through a folder that
// an editor or a shell left open. Descriptors that are passed to a program explicitly are not
// affected.
func KeepFiles() error {
	if markInherited() == nil {
		return nil
	}
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd >= firstInherited {
			unix.CloseOnExec(fd)
		}
	}
	return err
}
