//go:build amd64 || arm64

package launcher

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The offsets in struct seccomp_data, and the flag of the x32 calling convention.
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16
	x32Bit   = 0x40000000
)

var archs = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

const (
	load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	above = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	anyOf = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	ret   = unix.BPF_RET | unix.BPF_K
)

const (
	allow  = uint32(unix.SECCOMP_RET_ALLOW)
	notify = uint32(unix.SECCOMP_RET_USER_NOTIF)
)

func fail(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// filter is a program under construction. It has one block per system call, so all jumps are short.
type filter []unix.SockFilter

func (f *filter) stmt(code uint16, k uint32) { *f = append(*f, unix.SockFilter{Code: code, K: k}) }

func (f *filter) jump(code uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
}

// call applies action to a system call, regardless of its arguments.
func (f *filter) call(nr uintptr, action uint32) {
	f.jump(equal, uint32(nr), 0, 1)
	f.stmt(ret, action)
}

// ifAny applies action if an argument has any of the bits, and allows the call otherwise.
func (f *filter) ifAny(nr uintptr, arg int, bits, action uint32) {
	f.jump(equal, uint32(nr), 0, 4)
	f.stmt(load, uint32(dataArgs+8*arg))
	f.jump(anyOf, bits, 0, 1)
	f.stmt(ret, action)
	f.stmt(ret, allow)
}

// ifOther applies action unless an argument is one of the values.
func (f *filter) ifOther(nr uintptr, arg int, values []uint32, action uint32) {
	f.jump(equal, uint32(nr), 0, uint8(2*len(values)+2))
	f.stmt(load, uint32(dataArgs+8*arg))
	for _, v := range values {
		f.jump(equal, v, 0, 1)
		f.stmt(ret, allow)
	}
	f.stmt(ret, action)
}

// ifOneOf applies action if an argument is one of the values, and allows the call otherwise.
func (f *filter) ifOneOf(nr uintptr, arg int, values []uint32, action uint32) {
	f.jump(equal, uint32(nr), 0, uint8(2*len(values)+2))
	f.stmt(load, uint32(dataArgs+8*arg))
	for _, v := range values {
		f.jump(equal, v, 0, 1)
		f.stmt(ret, action)
	}
	f.stmt(ret, allow)
}

// refuse applies action if an argument has any of the bits. Otherwise, later blocks decide.
func (f *filter) refuse(nr uintptr, arg int, bits, action uint32) {
	f.jump(equal, uint32(nr), 0, 4)
	f.stmt(load, uint32(dataArgs+8*arg))
	f.jump(anyOf, bits, 0, 1)
	f.stmt(ret, action)
	f.stmt(load, dataNr)
}

// setuid is the mode bit with which a program runs as its owner. Commands must not set it, because
// other users of the machine could then act as this user.
const setuid = unix.S_ISUID

// setids are the bits that no file of the workspace gets. Folders may have setgid, which only
// chooses the group of new files in them.
const setids = unix.S_ISUID | unix.S_ISGID

// namespaces are the flags with which a process would get capabilities in new namespaces.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// pairs are the types of socket pairs that commands may create. A datagram socket of a pair could
// be connected to a Unix socket with a name.
var pairs = []uint32{
	unix.SOCK_STREAM, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.SOCK_STREAM | unix.SOCK_NONBLOCK,
	unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK,
	unix.SOCK_SEQPACKET, unix.SOCK_SEQPACKET | unix.SOCK_CLOEXEC,
	unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK,
	unix.SOCK_SEQPACKET | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK,
}

// writes are the bits of open's flags that create or change a file.
const writes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// program returns the filter of a command. It forbids some system calls. If brokered is set, it
// also passes the system calls that change names or files to the broker.
func program(brokered bool) filter {
	var f filter
	f.stmt(load, dataArch)
	f.jump(equal, archs[runtime.GOARCH], 1, 0)
	f.stmt(ret, fail(unix.ENOSYS)) // a foreign calling convention would not be filtered
	f.stmt(load, dataNr)
	f.jump(above, x32Bit, 0, 1)
	f.stmt(ret, fail(unix.ENOSYS))
	f.refuse(unix.SYS_FCHMOD, 1, setuid, fail(unix.EPERM))
	f.refuse(unix.SYS_FCHMODAT, 2, setuid, fail(unix.EPERM))
	f.refuse(unix.SYS_FCHMODAT2, 2, setuid, fail(unix.EPERM))
	f.legacyModes()
	if brokered {
		f.brokered()
	}
	f.ifOther(unix.SYS_SOCKET, 0, []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK},
		fail(unix.EACCES))
	f.ifOther(unix.SYS_SOCKETPAIR, 1, pairs, fail(unix.EACCES))
	f.ifOneOf(unix.SYS_IOCTL, 1, []uint32{unix.TIOCSTI, unix.TIOCLINUX}, fail(unix.EPERM))
	f.ifAny(unix.SYS_CLONE, 0, namespaces, fail(unix.EPERM))
	f.ifAny(unix.SYS_UNSHARE, 0, namespaces, fail(unix.EPERM))
	// A filter cannot inspect the arguments of these calls. Programs fall back to older calls.
	for _, nr := range []uintptr{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
		unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3} {
		f.call(nr, fail(unix.ENOSYS))
	}
	for _, nr := range []uintptr{unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
		unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
		unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_BPF,
		unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD} {
		f.call(nr, fail(unix.EPERM))
	}
	f.stmt(ret, allow)
	return f
}

// brokered passes to the broker the system calls that the broker handles.
func (f *filter) brokered() {
	f.ifAny(unix.SYS_OPENAT, 2, writes, notify)
	// openat2 passes its flags in memory, which a filter cannot read. Programs fall back to openat.
	f.call(unix.SYS_OPENAT2, fail(unix.ENOSYS))
	f.ifAny(unix.SYS_FACCESSAT, 2, unix.W_OK, notify)
	f.ifAny(unix.SYS_FACCESSAT2, 2, unix.W_OK, notify)
	for _, nr := range []uintptr{unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT,
		unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_MKNODAT,
		unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_TRUNCATE, unix.SYS_FCHMOD, unix.SYS_FCHOWN,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR} {
		f.call(nr, notify)
	}
	f.legacy()
}

// confine removes every capability from the calling thread and installs the filter. It returns the
// descriptor on which the kernel passes system calls to the broker, or -1 without a broker.
func confine(brokered bool) (int, error) {
	if err := DropPrivileges(); err != nil {
		return -1, err
	}
	prog := program(brokered)
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	var flags uintptr
	if brokered {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	fd, _, errno := unix.Syscall(
		unix.SYS_SECCOMP,
		unix.SECCOMP_SET_MODE_FILTER,
		flags,
		uintptr(unsafe.Pointer(&p)),
	)
	if errno != 0 {
		return -1, fmt.Errorf("entering the filter of system calls: %w", errno)
	}
	if !brokered {
		return -1, nil
	}
	return int(fd), nil
}
