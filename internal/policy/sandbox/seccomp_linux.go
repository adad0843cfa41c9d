package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The offsets in struct seccomp_data, and the flag of the x32 calling convention.
const (
	dataNr   = 0
	dataArch = 4
	dataArg0 = 16
	x32Bit   = 0x40000000
)

// archs are the audit names of the architectures whose system calls the filter knows.
var archs = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// filtersSockets reports whether the filter exists for this architecture.
func filtersSockets() bool { return archs[runtime.GOARCH] != 0 }

// noSockets blocks all sockets in this thread and its children, except Unix sockets and, unless
// root runs it, netlink sockets. Landlock alone restricts only TCP, without MPTCP. The filter also
// refuses io_uring, which opens sockets without passing the filter.
func noSockets() error {
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	jump := func(code uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k}
	}
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	netlink := uint32(unix.AF_NETLINK)
	if os.Geteuid() == 0 {
		netlink = unix.AF_UNIX // as root, a netlink socket could change the machine's network
	}
	prog := []unix.SockFilter{
		stmt(load, dataArch),
		jump(equal, archs[runtime.GOARCH], 1, 0),
		stmt(ret, unix.SECCOMP_RET_ERRNO|uint32(unix.EACCES)),
		stmt(load, dataNr),
		jump(above, x32Bit, 5, 0),
		jump(equal, unix.SYS_IO_URING_SETUP, 6, 0),
		jump(equal, unix.SYS_SOCKET, 0, 3),
		stmt(load, dataArg0),
		jump(equal, unix.AF_UNIX, 1, 0),
		jump(equal, netlink, 0, 1),
		stmt(ret, unix.SECCOMP_RET_ALLOW),
		stmt(ret, unix.SECCOMP_RET_ERRNO|uint32(unix.EACCES)),
		stmt(ret, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&p)),
		0, 0); err != nil {
		return fmt.Errorf("forbidding sockets: %w", err)
	}
	return nil
}
