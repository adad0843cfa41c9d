//go:build amd64 || arm64

package launcher

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// broker performs the command's changes to the workspace. The command sees the workspace read-only,
// so every call that the broker hands back to the kernel fails there. A command that changes a path
// while the kernel reads it again therefore gains nothing.
type broker struct {
	roots    []root
	listener int
	lock     int // makes each check and its change atomic across brokers; -1 if there is only one

	mu      sync.Mutex // guards the fields below and root.guarded
	refused []string   // protected paths, for the note at the end
}

// The kernel's structures for system calls that are passed to user space.
type (
	request struct {
		id    uint64
		pid   uint32
		flags uint32
		nr    int32
		arch  uint32
		ip    uint64
		args  [6]uint64
	}
	response struct {
		id    uint64
		val   int64
		errno int32
		flags uint32
	}
	addFD struct {
		id       uint64
		flags    uint32
		src      uint32
		newFD    uint32
		newFlags uint32
	}
)

const (
	respContinue = 1 // let the kernel execute the call in the read-only view
	syncWakeUp   = 1
)

// guard protects additional paths in the roots. It is called before the command starts.
func (b *broker) guard(g *guards) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.roots {
		b.roots[i].guarded = append(g.inRoots(b.roots[i].path), GitFolders(b.roots[i].path)...)
	}
}

func (b *broker) ioctl(op uintptr, p unsafe.Pointer) (uintptr, unix.Errno) {
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(b.listener), op, uintptr(p))
	return r, errno
}

// serve answers one request after another until the process ends.
func (b *broker) serve() {
	runtime.LockOSThread()
	if err := dropCapabilities(); err != nil {
		fmt.Fprintln(os.Stderr, "agent-lsp: creating the sandbox:", err)
		os.Exit(exitFailed)
	}
	// This flag lets the caller and the broker run on the same processor. Not every kernel supports
	// it.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(b.listener), ioctlSetFlags, syncWakeUp)
	for {
		var req request
		if _, errno := b.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&req)); errno != 0 {
			if errno == unix.EINTR ||
				errno == unix.ENOENT { // ENOENT: the caller was killed in the meantime
				continue
			}
			return
		}
		b.answer(&req)
	}
}

// ioctlSetFlags is SECCOMP_IOCTL_NOTIF_SET_FLAGS.
const ioctlSetFlags = 0x40082104

// answer executes a request and sends the result to the kernel.
func (b *broker) answer(req *request) {
	nr, args := modern(req.nr, req.args)
	switch nr { // the register after the last argument may contain anything
	case unix.SYS_FACCESSAT, unix.SYS_FCHMODAT:
		args[3] = 0
	case unix.SYS_RENAMEAT:
		args[4] = 0
	}
	c := call{broker: b, id: req.id, tid: int(req.pid), args: args}
	resp := response{id: req.id}
	op := operations[nr]
	if op == nil {
		resp.errno = -int32(unix.ENOSYS)
	} else {
		val, err := c.run(op)
		switch {
		case errors.Is(err, errElsewhere):
			resp.flags = respContinue
		case err != nil:
			resp.errno = -int32(errnoOf(err))
		default:
			resp.val = val
		}
	}
	_, _ = b.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&resp))
}

func (c *call) run(op func(*call) (int64, error)) (int64, error) {
	c.broker.mu.Lock()
	defer c.broker.mu.Unlock()
	defer c.close()
	if c.lock >= 0 {
		if err := exclude(c.lock); err != nil {
			return 0, err
		}
		defer func() { _ = unix.Flock(c.lock, unix.LOCK_UN) }()
	}
	return op(c)
}

// exclude waits until no other broker performs a call. Otherwise, two commands could together do
// what neither may do alone. One could rename a folder while the other creates a file in it that is
// protected under the folder's new name.
func exclude(lock int) error {
	for {
		if err := unix.Flock(lock, unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EACCES
}

// give puts a copy of a descriptor into the caller's process and closes the broker's descriptor.
func (c *call) give(fd int, cloexec bool) (int64, error) {
	add := addFD{id: c.id, src: uint32(fd)}
	if cloexec {
		add.newFlags = unix.O_CLOEXEC
	}
	n, errno := c.broker.ioctl(unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&add))
	// Close before the caller continues, because a file that is open for writing cannot be
	// executed.
	unix.Close(fd)
	if errno != 0 {
		return 0, errno
	}
	return int64(n), nil
}

// mostRefused bounds the number of paths in the note.
const mostRefused = 10

// refuse records a protected path and returns the error for the caller.
func (b *broker) refuse(path string) error {
	if len(b.refused) < mostRefused && !slices.Contains(b.refused, path) {
		b.refused = append(b.refused, path)
	}
	return unix.EROFS
}

// note reports, once the command has ended, which protected files the command tried to change.
func (b *broker) note() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.refused) == 0 {
		return
	}
	quoted := make([]string, len(b.refused))
	for i, p := range b.refused {
		quoted[i] = fmt.Sprintf("%q", p)
	}
	fmt.Fprintln(
		os.Stderr,
		"agent-lsp: the sandbox did not change files that can start programs or hold secrets:",
		strings.Join(quoted, ", "),
	)
	b.refused = nil
}
