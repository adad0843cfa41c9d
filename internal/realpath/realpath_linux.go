package realpath

import "golang.org/x/sys/unix"

// noLinks returns nil if a path exists and no part of it is a symbolic link. The error is
// unix.ENOENT if a part of the path is missing and no part before it is a link. It is another error
// if the kernel cannot check this, because openat2(2) requires Linux 5.6 and some containers forbid
// it.
func noLinks(path string) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return err
	}
	_ = unix.Close(fd) // nothing was written, so the error does not matter
	return nil
}
