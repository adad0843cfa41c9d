//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps an open from waiting if a race put a named pipe in the file's place.
const nonblock = syscall.O_NONBLOCK

// copyMeta gives a new file the mode and owner of the file that it replaces. It ignores a failure
// to set the owner, because the content is more important.
func copyMeta(f *os.File, st fs.FileInfo) error {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok &&
		(int(sys.Uid) != os.Geteuid() || int(sys.Gid) != os.Getegid()) {
		_ = f.Chown(int(sys.Uid), int(sys.Gid))
	}
	return f.Chmod(st.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
}

// syncDir makes a rename durable. It ignores a file system that does not support that.
func syncDir(root *os.Root, dir string) {
	if d, err := root.Open(dir); err == nil {
		_ = SyncFile(d)
		d.Close()
	}
}
