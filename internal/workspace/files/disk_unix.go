//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock prevents an open from waiting if a race replaced the file with a named pipe.
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

// link gives a file a second name.
func link(from, to *folder) error {
	return between(from, to, func(old, now int) error {
		return unix.Linkat(old, from.name, now, to.name, 0)
	})
}

// rename gives a file another name.
func rename(from, to *folder) error {
	return between(from, to, func(old, now int) error {
		return unix.Renameat(old, from.name, now, to.name)
	})
}

// between calls do with the descriptors of two folders.
func between(from, to *folder, do func(old, now int) error) error {
	old, err := from.root.Open(".")
	if err != nil {
		return err
	}
	defer old.Close()
	now, err := to.root.Open(".")
	if err != nil {
		return err
	}
	defer now.Close()
	if err := do(int(old.Fd()), int(now.Fd())); err != nil {
		return &os.LinkError{Op: "rename", Old: from.name, New: to.name, Err: err}
	}
	return nil
}

// syncDir makes a rename durable. It ignores a file system that does not support that.
func syncDir(root *os.Root, dir string) {
	if d, err := root.Open(dir); err == nil {
		_ = SyncFile(d)
		d.Close()
	}
}
