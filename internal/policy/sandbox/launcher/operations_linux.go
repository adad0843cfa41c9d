//go:build amd64 || arm64

package launcher

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// operations maps the numbers of system calls to the functions that perform them.
var operations = map[int32]func(*call) (int64, error){
	unix.SYS_OPENAT:     (*call).openat,
	unix.SYS_FACCESSAT:  (*call).access,
	unix.SYS_FACCESSAT2: (*call).access,
	unix.SYS_MKDIRAT:    (*call).mkdir,
	unix.SYS_UNLINKAT:   (*call).unlink,
	unix.SYS_RENAMEAT:   (*call).rename,
	unix.SYS_RENAMEAT2:  (*call).rename,
	unix.SYS_LINKAT:     (*call).link,
	unix.SYS_SYMLINKAT:  (*call).symlink,
	unix.SYS_MKNODAT:    (*call).mknod,
	unix.SYS_FCHMODAT:   (*call).chmod,
	unix.SYS_FCHMODAT2:  (*call).chmod,
	unix.SYS_FCHOWNAT:   (*call).chown,
	unix.SYS_UTIMENSAT:  (*call).times,
	unix.SYS_TRUNCATE:   (*call).truncate,
	unix.SYS_FCHMOD:     (*call).fchmod,
	unix.SYS_FCHOWN:     (*call).fchown,

	unix.SYS_SETXATTR:     func(c *call) (int64, error) { return c.setAttribute(true) },
	unix.SYS_LSETXATTR:    func(c *call) (int64, error) { return c.setAttribute(false) },
	unix.SYS_REMOVEXATTR:  func(c *call) (int64, error) { return c.removeAttribute(true) },
	unix.SYS_LREMOVEXATTR: func(c *call) (int64, error) { return c.removeAttribute(false) },
}

// target reads the path of a call and resolves it.
func (c *call) target(dirfd, addr uint64, follow bool) (*place, error) {
	name, err := c.text(addr)
	if err != nil {
		return nil, err
	}
	return c.find(dirfd, name, follow)
}

// changeable refuses a protected path, and a file that is masked in the command's view.
func (c *call) changeable(p *place) error {
	if p.startsPrograms() || masked(p) {
		return c.refuse(p.path())
	}
	return nil
}

// masked reports whether the command sees a mask instead of the file in the workspace, because the
// path names a secret file or a hard link to one.
func masked(p *place) bool {
	var seen, real unix.Stat_t
	if unix.Fstatat(p.dir, p.name, &real, unix.AT_SYMLINK_NOFOLLOW) != nil ||
		unix.Fstatat(p.seen, p.name, &seen, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	return real.Ino != seen.Ino || real.Dev != seen.Dev
}

// changeableTarget is like target, for calls that change the file.
func (c *call) changeableTarget(dirfd, addr uint64, follow bool) (*place, error) {
	name, err := c.text(addr)
	if err != nil {
		return nil, err
	}
	// The C library uses such a path for chmod without following links.
	if n, ok := strings.CutPrefix(name, "/proc/self/fd/"); ok && follow {
		if fd, err := strconv.ParseUint(n, 10, 31); err == nil {
			return c.opened(fd)
		}
	}
	p, err := c.find(dirfd, name, follow)
	if err != nil {
		return nil, err
	}
	return p, c.changeable(p)
}

func (c *call) openat() (int64, error) {
	flags, mode := int(uint32(c.args[2])), uint32(c.args[3])
	name, err := c.text(c.args[1])
	if err != nil {
		return 0, err
	}
	if strings.HasSuffix(name, "/") {
		return 0, errElsewhere // a folder, which cannot be opened for writing
	}
	exclusive := flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0
	p, err := c.find(c.args[0], name, flags&unix.O_NOFOLLOW == 0 && !exclusive)
	if err != nil {
		return 0, err
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return 0, unix.EOPNOTSUPP // programs then create a named file
	}
	var st unix.Stat_t
	exists := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	switch kind := st.Mode & unix.S_IFMT; {
	case exists && kind != unix.S_IFREG && kind != unix.S_IFLNK:
		// The read-only view can open folders, and can write to pipes and devices.
		return 0, errElsewhere
	case !exists && flags&unix.O_CREAT == 0:
		return 0, unix.ENOENT
	}
	if err := c.changeable(p); err != nil {
		return 0, err
	}
	return c.openFile(p, flags, mode, exists)
}

// openFile opens a regular file for the caller. It opens the file with O_NONBLOCK and clears the
// flag afterwards, so it never blocks.
func (c *call) openFile(p *place, flags int, mode uint32, exists bool) (int64, error) {
	if !exists {
		mode &^= c.umask()
	}
	fd, err := unix.Openat(
		p.dir,
		p.name,
		flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY,
		mode&0o7777&^setids,
	)
	if err != nil {
		return 0, err
	}
	if flags&unix.O_NONBLOCK == 0 {
		if now, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, now&^unix.O_NONBLOCK)
		}
	}
	return c.give(fd, flags&unix.O_CLOEXEC != 0)
}

// access checks whether a file can be written, because the read-only view would report that it
// cannot.
func (c *call) access() (int64, error) {
	flags := c.args[3]
	name, err := c.text(c.args[1])
	if err != nil {
		return 0, err
	}
	p, err := c.find(c.args[0], name, flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	if err != nil {
		return c.accessRoot(name, err)
	}
	if p.startsPrograms() {
		return 0, unix.EROFS
	}
	return 0, unix.Faccessat2(p.dir, p.name, uint32(c.args[2]), int(flags)&unix.AT_SYMLINK_NOFOLLOW)
}

// accessRoot checks access to a folder that the path names without a parent, such as "." or a root.
func (c *call) accessRoot(name string, not error) (int64, error) {
	if name == "" {
		return 0, not
	}
	base, err := c.base(c.args[0], name)
	if err != nil {
		return 0, err
	}
	seen, err := c.folder(base, strings.TrimRight(name, "/")+"/")
	if err != nil {
		return 0, err
	}
	p, err := c.writable(seen, ".")
	if err != nil {
		return 0, err
	}
	if p.startsPrograms() {
		return 0, unix.EROFS
	}
	return 0, unix.Faccessat2(p.dir, ".", uint32(c.args[2]), 0)
}

func (c *call) mkdir() (int64, error) {
	p, err := c.changeableTarget(c.args[0], c.args[1], false)
	if err != nil {
		return 0, c.existsFirst(p, err)
	}
	return 0, unix.Mkdirat(p.dir, p.name, uint32(c.args[2])&0o7777&^c.umask())
}

// existsFirst returns "file exists" instead of a refusal, as the kernel does. mkdir -p relies on
// this error.
func (c *call) existsFirst(p *place, err error) error {
	var st unix.Stat_t
	if p != nil && unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return unix.EEXIST
	}
	return err
}

func (c *call) unlink() (int64, error) {
	p, err := c.changeableTarget(c.args[0], c.args[1], false)
	if err == nil && p.aboveGit() {
		err = c.refuse(p.path())
	}
	if err != nil {
		return 0, err
	}
	return 0, unix.Unlinkat(p.dir, p.name, int(c.args[2]))
}

// rename moves a file within the workspace. If only the source or only the target is in the
// workspace, it returns the error for different file systems, so that programs copy the file
// instead.
func (c *call) rename() (int64, error) {
	from, fromErr := c.target(c.args[0], c.args[1], false)
	to, toErr := c.target(c.args[2], c.args[3], false)
	if err := crossing(from, to, fromErr, toErr); err != nil {
		return 0, err
	}
	for _, p := range []*place{from, to} {
		if err := c.changeable(p); err != nil {
			return 0, err
		}
	}
	// Check both directions, because of RENAME_EXCHANGE.
	for _, pair := range [][2]*place{{from, to}, {to, from}} {
		if err := c.renamable(pair[0], pair[1]); err != nil {
			return 0, err
		}
	}
	return 0, unix.Renameat2(from.dir, from.name, to.dir, to.name, uint(c.args[4]))
}

// crossing returns the error for a rename or link between two locations that are not both in the
// workspace.
func crossing(from, to *place, fromErr, toErr error) error {
	switch {
	case fromErr == nil && toErr == nil:
		return nil
	case fromErr == errElsewhere && toErr == nil, toErr == errElsewhere && fromErr == nil:
		return unix.EXDEV
	case fromErr != nil:
		return fromErr
	}
	return toErr
}

// renamable refuses renames that would change whether a file is protected. Examples are a folder
// with files that are protected under its old or new name, and a secret file that gets an ordinary
// name.
func (c *call) renamable(from, to *place) error {
	for _, p := range []*place{from, to} {
		if p.aboveGit() {
			return c.refuse(p.path())
		}
	}
	if inPackages(from.path()) != inPackages(to.path()) {
		if inner := c.protectedBelow(from, to); inner != "" {
			return c.refuse(inner)
		}
	}
	for _, p := range []*place{from, to} {
		inner := pairFolder(p.name)
		if protected := path.Join(p.path(), inner); inner != "" && StartsPrograms(protected) &&
			c.contains(from, inner) {
			return c.refuse(protected)
		}
	}
	return nil
}

// linkable refuses a link in place of a folder in which one name is protected. The command could
// otherwise create that name in the folder to which the link leads.
func (c *call) linkable(p *place) error {
	inner := pairFolder(p.name)
	if protected := path.Join(p.path(), inner); inner != "" && StartsPrograms(protected) {
		return c.refuse(protected)
	}
	return nil
}

// mostMoved bounds the number of names in a folder that is moved into or out of installed packages,
// because each name is checked.
const mostMoved = 100_000

// protectedBelow returns a name in a folder that is protected under its old or new path, or a
// secret that would not be masked at the new path. It returns "" if there is none. A folder that
// cannot be read completely is treated as if it contained such a name.
func (c *call) protectedBelow(from, to *place) string {
	type folder struct{ name, rel string }
	todo, seen := []folder{{from.name, ""}}, 0
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		names, err := list(from.dir, dir.name)
		seen += len(names)
		switch {
		case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOENT):
			continue // the entry is a file or a link
		case err != nil || seen > mostMoved:
			return path.Join(from.path(), dir.rel)
		}
		for _, name := range names {
			rel := path.Join(dir.rel, name)
			if StartsPrograms(path.Join(from.path(), rel)) ||
				StartsPrograms(path.Join(to.path(), rel)) || Secret(name) && inPackages(to.path()) {
				return path.Join(from.path(), rel)
			}
			todo = append(todo, folder{path.Join(dir.name, name), rel})
		}
	}
	return ""
}

// list reads the names of a folder on the writable mount, without following a link.
func list(dir int, name string) ([]string, error) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf, names := make([]byte, 32<<10), []string(nil)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// contains searches a folder for a name, ignoring case. A link, and a folder that cannot be read,
// are treated as if they contained the name. A command could create it where the link leads.
func (c *call) contains(p *place, inner string) bool {
	if _, err := readlink(p); err == nil {
		return true
	}
	names, err := list(p.dir, p.name)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOENT) {
		return false
	}
	return err != nil ||
		slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, inner) })
}

func (c *call) link() (int64, error) {
	flags := c.args[4]
	from, fromErr := c.target(c.args[0], c.args[1], flags&unix.AT_SYMLINK_FOLLOW != 0)
	to, toErr := c.changeableTarget(c.args[2], c.args[3], false)
	if err := crossing(from, to, fromErr, toErr); err != nil {
		return 0, err
	}
	if err := c.changeable(from); err != nil { // the other name would not be protected
		return 0, err
	}
	if _, err := readlink(from); err == nil {
		if err := c.linkable(to); err != nil {
			return 0, err
		}
	}
	return 0, unix.Linkat(from.dir, from.name, to.dir, to.name, 0)
}

func (c *call) symlink() (int64, error) {
	to, err := c.text(c.args[0])
	if err != nil {
		return 0, err
	}
	p, err := c.changeableTarget(c.args[1], c.args[2], false)
	if err == nil && p.aboveGit() { // the link would redirect a missing protected path
		err = c.refuse(p.path())
	}
	if err == nil {
		err = c.linkable(p)
	}
	if err != nil {
		return 0, c.existsFirst(p, err)
	}
	return 0, unix.Symlinkat(to, p.dir, p.name)
}

// mknod creates regular files and pipes. Devices need a capability, and sockets are forbidden.
func (c *call) mknod() (int64, error) {
	mode := uint32(c.args[2])
	p, err := c.changeableTarget(c.args[0], c.args[1], false)
	if err != nil {
		return 0, c.existsFirst(p, err)
	}
	if kind := mode & unix.S_IFMT; kind != 0 && kind != unix.S_IFREG && kind != unix.S_IFIFO {
		return 0, unix.EPERM
	}
	return 0, unix.Mknodat(p.dir, p.name, mode&(unix.S_IFMT|0o7777)&^setids&^c.umask(), 0)
}

// pin opens the file at a location without following a link, so the change cannot reach another
// file.
func (c *call) pin(p *place) (int, error) {
	fd, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	c.open = append(c.open, fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return -1, unix.EOPNOTSUPP
	}
	return fd, nil
}

func (c *call) chown() (int64, error) {
	p, err := c.changeableTarget(c.args[0], c.args[1], c.args[4]&unix.AT_SYMLINK_NOFOLLOW == 0)
	if err != nil {
		return 0, err
	}
	return 0, unix.Fchownat(
		p.dir,
		p.name,
		int(int32(c.args[2])),
		int(int32(c.args[3])),
		unix.AT_SYMLINK_NOFOLLOW,
	)
}

// fchown changes the owner of the file that a descriptor refers to.
func (c *call) fchown() (int64, error) {
	p, err := c.opened(c.args[0])
	if err != nil {
		return 0, err
	}
	uid, gid := int(int32(c.args[1])), int(int32(c.args[2]))
	return 0, unix.Fchownat(p.dir, p.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
}

// times sets a file's times. Without a path, the call applies to a descriptor.
func (c *call) times() (int64, error) {
	var p *place
	var err error
	if c.args[1] == 0 {
		p, err = c.opened(c.args[0])
	} else {
		p, err = c.changeableTarget(c.args[0], c.args[1], c.args[3]&unix.AT_SYMLINK_NOFOLLOW == 0)
	}
	if err != nil {
		return 0, err
	}
	var ts []unix.Timespec
	if c.args[2] != 0 {
		ts = make([]unix.Timespec, 2)
		if err := c.read(
			c.args[2],
			unsafe.Slice((*byte)(unsafe.Pointer(&ts[0])), 2*unsafe.Sizeof(ts[0])),
		); err != nil {
			return 0, err
		}
	}
	return 0, unix.UtimesNanoAt(p.dir, p.name, ts, unix.AT_SYMLINK_NOFOLLOW)
}

func (c *call) truncate() (int64, error) {
	p, err := c.changeableTarget(at, c.args[0], true)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Openat(
		p.dir,
		p.name,
		unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK,
		0,
	)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return 0, unix.Ftruncate(fd, int64(c.args[1]))
}

// mostAttribute is the kernel's limit for the size of an attribute, in bytes.
const mostAttribute = 64 << 10
