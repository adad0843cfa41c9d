package search

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// open opens a path that contains no symbolic links. It fails if an element has been replaced by a
// link since the path was resolved, because the link may lead out of the workspace. On kernels
// before 5.6, it checks only the last element.
func open(path string, flags int) (int, error) {
	flags |= unix.O_RDONLY | unix.O_CLOEXEC
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN:
		case unix.ENOSYS, unix.EPERM: // kernels before 5.6, and some seccomp filters
			return syscall.Open(path, flags|unix.O_NOFOLLOW, 0)
		default:
			return fd, err
		}
	}
}
