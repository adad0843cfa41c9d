//go:build amd64 || arm64

package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errElsewhere hands a call back to the kernel, which executes it in the command's own view,
// because the path is outside the workspace or cannot be resolved.
var errElsewhere = errors.New("not in the workspace")

// at is AT_FDCWD as it appears in a register.
const at = uint64(0xffffffffffffff9c)

// call is a system call that the broker performs. Older calls, such as open, have been converted to
// newer ones, such as openat (see modern).
type call struct {
	*broker
	id   uint64
	tid  int
	args [6]uint64
	open []int // descriptors that are closed at the end
}

func (c *call) close() {
	for _, fd := range c.open {
		unix.Close(fd)
	}
}

// place is a name in a folder of the workspace. The folder is pinned, so the command cannot replace
// it between the check and the change.
type place struct {
	dir  int // descriptor on the writable mount
	seen int // the same folder as the command sees it
	root *root
	rel  string // path of the folder in the root, "." for the root itself
	name string
}

func (p *place) path() string { return path.Join(p.rel, p.name) }

// startsPrograms reports whether the location is a protected one.
func (p *place) startsPrograms() bool {
	return StartsPrograms(p.path()) || InGitFolder(p.path(), p.root.guarded)
}

// aboveGit reports whether the location is a folder above one of the root's GitFolders.
func (p *place) aboveGit() bool {
	return slices.ContainsFunc(p.root.guarded, func(f string) bool { return Below(f, p.path()) })
}

const maxLinks = 40

// find resolves a path of the caller. follow reports whether to follow a link in the last position.
func (c *call) find(dirfd uint64, name string, follow bool) (*place, error) {
	if name == "" {
		return nil, errElsewhere
	}
	base, err := c.base(dirfd, name)
	if err != nil {
		return nil, err
	}
	for range maxLinks {
		name = strings.TrimRight(name, "/")
		dir, last := path.Split(name)
		if last == "" || last == "." || last == ".." {
			return nil, errElsewhere
		}
		seen, err := c.folder(base, dir)
		if err != nil {
			return nil, err
		}
		p, err := c.writable(seen, last)
		if err != nil {
			return nil, err
		}
		to, err := readlink(p)
		if !follow || err != nil {
			return p, nil
		}
		name, base = to, seen
	}
	return nil, unix.ELOOP
}

// base opens the folder from which a path starts, as the caller sees it.
func (c *call) base(dirfd uint64, name string) (int, error) {
	from := "/"
	if name[0] != '/' {
		from = fmt.Sprintf("/proc/%d/cwd", c.tid)
		if fd := int32(dirfd); fd != unix.AT_FDCWD {
			from = fmt.Sprintf("/proc/%d/fd/%d", c.tid, fd)
		}
	}
	fd, err := unix.Open(from, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, errElsewhere
	}
	c.open = append(c.open, fd)
	return fd, nil
}

// folder opens the folder of a path in the command's view. It does not follow magic links such as
// /proc/self/cwd, which would lead to the broker's own files.
func (c *call) folder(base int, dir string) (int, error) {
	if dir == "" {
		return base, nil
	}
	fd, err := unix.Openat2(
		base,
		dir,
		&unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_NO_MAGICLINKS,
		},
	)
	if err != nil {
		return -1, errElsewhere
	}
	c.open = append(c.open, fd)
	return fd, nil
}

// writable returns the location of name in a folder that the command sees as the descriptor seen.
// It opens this folder on the writable mount.
func (c *call) writable(seen int, name string) (*place, error) {
	full, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(seen))
	if err != nil {
		return nil, errElsewhere
	}
	r := c.rootOf(full)
	if r == nil {
		return nil, errElsewhere
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(full, r.path), "/")
	if rel == "" {
		rel = "."
	}
	fd, err := unix.Openat2(
		r.fd,
		rel,
		&unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS},
	)
	if err != nil {
		return nil, errElsewhere
	}
	c.open = append(c.open, fd)
	if !same(seen, fd) {
		return nil, errElsewhere
	}
	return &place{fd, seen, r, rel, name}, nil
}

// opened resolves the file that a descriptor of the caller refers to, if it may be changed. A
// descriptor that the broker handed out is on the writable mount, where the kernel can perform the
// change.
func (c *call) opened(fd uint64) (*place, error) {
	from := fmt.Sprintf("/proc/%d/fd/%d", c.tid, int32(fd))
	file, err := unix.Open(from, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errElsewhere
	}
	c.open = append(c.open, file)
	full, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(file))
	if err != nil || c.rootOf(path.Dir(full)) == nil {
		return nil, errElsewhere
	}
	seen, err := c.folder(unix.AT_FDCWD, path.Dir(full))
	if err != nil {
		return nil, err
	}
	p, err := c.writable(seen, path.Base(full))
	if err != nil {
		return nil, err
	}
	now, err := c.pin(p)
	if err != nil || !same(file, now) {
		return nil, errElsewhere // the file was moved, removed, or masked
	}
	return p, c.changeable(p)
}

// rootOf returns the innermost root that contains a path.
func (b *broker) rootOf(full string) *root {
	var best *root
	for i := range b.roots {
		if r := &b.roots[i]; Below(full, r.path) && (best == nil || len(r.path) > len(best.path)) {
			best = r
		}
	}
	return best
}

func same(a, b int) bool {
	var x, y unix.Stat_t
	return unix.Fstat(a, &x) == nil && unix.Fstat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

func readlink(p *place) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(p.dir, p.name, buf)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", unix.ENOENT
	}
	return string(buf[:n]), nil
}

const page = 4096

// text reads a path from the caller's memory once. The broker uses only this copy, so the caller
// cannot change the path after the check.
func (c *call) text(addr uint64) (string, error) {
	var out []byte
	for len(out) < unix.PathMax {
		chunk := make([]byte, page-int(addr%page))
		if err := c.read(addr, chunk); err != nil {
			return "", err
		}
		if i := bytes.IndexByte(chunk, 0); i >= 0 {
			return string(append(out, chunk[:i]...)), nil
		}
		out, addr = append(out, chunk...), addr+uint64(len(chunk))
	}
	return "", unix.ENAMETOOLONG
}

// read fills buf from the caller's memory. It fails if that memory cannot be read completely.
func (c *call) read(addr uint64, buf []byte) error {
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	n, err := unix.ProcessVMReadv(
		c.tid,
		local,
		[]unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}},
		0,
	)
	if err != nil {
		return err
	}
	if n != len(buf) {
		return unix.EFAULT
	}
	return nil
}

// umask reads the umask of the caller. The broker cannot set its own umask instead, because a
// process has only one.
func (c *call) umask() uint32 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.tid))
	if err != nil {
		return 0o077
	}
	_, rest, _ := bytes.Cut(b, []byte("\nUmask:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	m, err := strconv.ParseUint(string(line), 8, 32)
	if err != nil {
		return 0o077
	}
	return uint32(m)
}
