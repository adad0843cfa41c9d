package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

const (
	capNetAdmin = unix.CAP_NET_ADMIN
)

// Sets of Landlock rights. fsWriteV1 contains the rights of the first ABI that change files.
const (
	fsWriteV1 = ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeChar | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock |
		ll.AccessFSMakeFifo | ll.AccessFSMakeBlock | ll.AccessFSMakeSym
	// The rights that a rule for a single file may have.
	fsFile = ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
)

// devices are writable although they are outside the workspace, because they store nothing.
var devices = []string{
	"/dev/null",
	"/dev/zero",
	"/dev/full",
	"/dev/tty",
	"/dev/ptmx",
	"/dev/pts",
	"/dev/shm",
}

// Attr sets the attributes with which the supervisor must be started. Call it in the daemon, after
// all other changes to c.
func (p *Plan) Attr(c *exec.Cmd) error {
	if p == nil || p.Kind != Namespace || p.Network {
		return nil
	}
	namespaceAttr(c.SysProcAttr)
	return launcher.Nest(c, c.Path)
}

// DropTracing removes the right to read the memory of other processes from this thread and from the
// processes that it starts. It prevents programs that root starts from reading a daemon whose
// memory is hidden. An ordinary user has no such right. The caller must have locked the goroutine
// to its thread.
func DropTracing() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("reading the capabilities: %w", err)
	}
	err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_PTRACE, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EPERM) { // ordinary users, and root in some containers
		return fmt.Errorf("dropping the right to trace: %w", err)
	}
	have[0].Inheritable &^= 1 << unix.CAP_SYS_PTRACE // this also clears the ambient set
	if err := unix.Capset(&header, &have[0]); err != nil {
		return fmt.Errorf("dropping the right to trace: %w", err)
	}
	return nil
}

// CommandAttr sets the attributes with which the command must be started, in addition to the plan's
// prefix.
func (p *Plan) CommandAttr(a *syscall.SysProcAttr) {
	if p != nil && p.Kind == Own {
		launcher.Attr(a)
	}
}

// Enter confines the calling OS thread and every process that it starts. The other threads stay
// unconfined, so that the supervisor can still end the processes that it started. The caller must
// have locked the goroutine to its thread, and must never unlock it.
func (p *Plan) Enter() error {
	if !p.Enters() {
		return nil
	}
	if p.Kind == Namespace && !p.Network {
		if err := launcher.LoopbackUp(); err != nil {
			return err
		}
		if err := p.offerProxy(); err != nil {
			return err
		}
	}
	return p.restrict()
}

// Dial connects to the proxy for bubblewrap, because a process in its sandbox cannot connect
// itself. The command's process inherits the connection as descriptor launcher.OfferFD. The caller
// closes the connection when the command has ended. Dial returns -1 if it opens no connection.
func (p *Plan) Dial() (int, error) {
	if p == nil || p.Kind != Bubblewrap || p.Proxy == nil {
		return -1, nil
	}
	return launcher.DialProxy(p.Proxy.Socket)
}

// offerProxy gives the proxy a listener in this network namespace. This process serves one command,
// and the connection to the proxy ends when the process ends.
func (p *Plan) offerProxy() error {
	if p.Proxy == nil {
		return nil
	}
	conn, err := launcher.DialProxy(p.Proxy.Socket)
	if err != nil {
		return err
	}
	return launcher.OfferProxy(conn, p.Proxy.Token)
}

// restrict applies the Landlock rules to this thread. It makes the system calls itself, because
// go-landlock's Restrict applies to all threads of the process, and the supervisor's other threads
// must stay unconfined.
func (p *Plan) restrict() error {
	handled := fsRights(p.ABI)
	attr := &ll.RulesetAttr{HandledAccessFS: handled}
	if p.ABI >= abiNet && !p.Network {
		attr.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if p.Kind == Namespace {
		attr.HandledAccessNet = 0 // the namespace blocks the network, and leaves loopback usable
	}
	if p.ABI >= 6 {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	fd, err := ll.LandlockCreateRuleset(attr, 0)
	if err != nil {
		return fmt.Errorf("creating the Landlock rules: %w", err)
	}
	defer unix.Close(fd)
	for _, w := range append(append([]string(nil), devices...), p.Writable...) {
		if err := allowBelow(fd, w, handled); err != nil {
			return err
		}
	}
	if err := launcher.DropPrivileges(); err != nil {
		return err
	}
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
		return fmt.Errorf("entering the Landlock sandbox: %w", err)
	}
	if p.Kind == Landlock && !p.Network && filtersSockets() {
		return noSockets()
	}
	return nil
}

func fsRights(abi int) uint64 {
	rights := uint64(fsWriteV1)
	if abi >= 2 {
		rights |= ll.AccessFSRefer
	}
	if abi >= 3 {
		rights |= ll.AccessFSTruncate
	}
	if abi >= 5 {
		rights |= ll.AccessFSIoctlDev
	}
	return rights
}

func allowBelow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return nil
		}
		return fmt.Errorf("opening %s for the sandbox: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("examining %s for the sandbox: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fsFile
	}
	if err := ll.LandlockAddPathBeneathRule(ruleset,
		&ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0); err != nil {
		return fmt.Errorf("allowing writes below %s: %w", path, err)
	}
	return nil
}
