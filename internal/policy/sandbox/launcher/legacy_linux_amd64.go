package launcher

import "golang.org/x/sys/unix"

// legacyModes refuses chmod if it sets the setuid bit. The newer forms of chmod are filtered
// elsewhere.
func (f *filter) legacyModes() { f.refuse(unix.SYS_CHMOD, 1, setuid, fail(unix.EPERM)) }

// legacy passes the calls that have a newer form to the broker.
func (f *filter) legacy() {
	f.ifAny(unix.SYS_OPEN, 1, writes, notify)
	f.ifAny(unix.SYS_ACCESS, 1, unix.W_OK, notify)
	for _, nr := range []uintptr{unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_UNLINK,
		unix.SYS_RENAME, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_MKNOD,
		unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN} {
		f.call(nr, notify)
	}
}

// modern converts a call to its newer form.
func modern(nr int32, a [6]uint64) (int32, [6]uint64) {
	switch nr {
	case unix.SYS_OPEN:
		return unix.SYS_OPENAT, [6]uint64{at, a[0], a[1], a[2]}
	case unix.SYS_CREAT:
		return unix.SYS_OPENAT, [6]uint64{
			at,
			a[0],
			unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC,
			a[1],
		}
	case unix.SYS_ACCESS:
		return unix.SYS_FACCESSAT, [6]uint64{at, a[0], a[1]}
	case unix.SYS_MKDIR:
		return unix.SYS_MKDIRAT, [6]uint64{at, a[0], a[1]}
	case unix.SYS_RMDIR:
		return unix.SYS_UNLINKAT, [6]uint64{at, a[0], unix.AT_REMOVEDIR}
	case unix.SYS_UNLINK:
		return unix.SYS_UNLINKAT, [6]uint64{at, a[0]}
	case unix.SYS_RENAME:
		return unix.SYS_RENAMEAT2, [6]uint64{at, a[0], at, a[1]}
	case unix.SYS_LINK:
		return unix.SYS_LINKAT, [6]uint64{at, a[0], at, a[1]}
	case unix.SYS_SYMLINK:
		return unix.SYS_SYMLINKAT, [6]uint64{a[0], at, a[1]}
	case unix.SYS_MKNOD:
		return unix.SYS_MKNODAT, [6]uint64{at, a[0], a[1], a[2]}
	case unix.SYS_CHMOD:
		return unix.SYS_FCHMODAT, [6]uint64{at, a[0], a[1]}
	case unix.SYS_CHOWN:
		return unix.SYS_FCHOWNAT, [6]uint64{at, a[0], a[1], a[2]}
	case unix.SYS_LCHOWN:
		return unix.SYS_FCHOWNAT, [6]uint64{at, a[0], a[1], a[2], unix.AT_SYMLINK_NOFOLLOW}
	}
	return nr, a
}
