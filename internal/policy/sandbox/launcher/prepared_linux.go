//go:build amd64 || arm64

package launcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Prepared is a sandbox whose command is not known yet: a process that has set up its view of the
// file system and waits. It ends when the process that prepared it ends, because it reads from a
// socket of that process. It is not safe for concurrent use.
type Prepared struct {
	prefix []string
	pid    int
	conn   int  // the process's socket, -1 once it is closed
	mounts int  // becomes readable when the mounts of this process change
	space  int  // descriptor that keeps the process's mount namespace open, or -1
	ended  bool // the process has reported the command's end, but has not been waited for
}

// patience bounds how long Start waits for a sandbox that is still being prepared.
const patience = 2 * time.Second

// Prepare starts to create the sandbox for a prefix that Spec.Prefix returned. env is the
// environment of the launcher's process, not of the command.
func Prepare(prefix, env []string) (*Prepared, error) {
	if len(prefix) != 4 || prefix[1] != runArg {
		return nil, errors.New("preparing a sandbox: this is not the launcher's command line")
	}
	p := &Prepared{prefix: slices.Clone(prefix), conn: -1, mounts: -1, space: -1}
	if err := p.fork(env); err != nil {
		p.Release()
		return nil, fmt.Errorf("preparing a sandbox: %w", err)
	}
	return p, nil
}

func (p *Prepared) fork(env []string) (err error) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	// Open this before the sandbox copies the mounts, so that no change is missed.
	p.mounts, err = unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p.conn = ends[0]
	defer unix.Close(ends[1])
	limit := unix.NsecToTimeval(patience.Nanoseconds())
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(p.conn, unix.SOL_SOCKET, option, &limit); err != nil {
			return err
		}
	}
	attr := &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(ends[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	Attr(attr.Sys)
	p.pid, err = syscall.ForkExec(
		p.prefix[0],
		[]string{p.prefix[0], prepareArg, p.prefix[2]},
		attr,
	)
	return err
}

// Start runs a command in the sandbox, with output as its stdout and stderr, and returns the
// process that ends when the command ends. ok is false if the sandbox was prepared for another
// prefix, or if a new sandbox would show other files. In that case, nothing has run, and the caller
// must discard the sandbox.
func (p *Prepared) Start(prefix []string, c Start, output int) (pid int, ok bool) {
	if !slices.Equal(prefix, p.prefix) || !p.fresh() {
		return 0, false
	}
	line, err := json.Marshal(c)
	if err != nil {
		return 0, false
	}
	// Ending the namespace takes milliseconds. This descriptor delays the end until Release, so
	// that the command does not wait for it.
	space, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", p.pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		p.space = space
	}
	if err := sendAll(p.conn, append(line, '\n'), output); err != nil {
		return 0, false
	}
	return p.pid, true
}

// Wait waits until the command and all its processes have ended, and returns the exit code. ok is
// false if the sandbox's process ends without a report. The end of that process kills everything
// that is left, and the caller waits for that process.
func (p *Prepared) Wait() (code int, ok bool) {
	b := make([]byte, 1)
	for {
		n, err := unix.Read(p.conn, b)
		switch {
		// EAGAIN: the read timed out, but the command may run longer than patience.
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case n == 1:
			p.ended = true
			return int(b[0]), true
		default:
			return 0, false
		}
	}
}

// fresh reports whether the sandbox is ready and shows the same files as a new sandbox would.
func (p *Prepared) fresh() bool {
	var r receiver
	line, err := r.line(p.conn)
	var s state
	if err != nil || json.Unmarshal(line, &s) != nil {
		return false
	}
	events := []unix.PollFd{{Fd: int32(p.mounts), Events: unix.POLLPRI}}
	if n, err := unix.Poll(events, 0); err != nil || n > 0 {
		return false
	}
	for _, f := range s.Seen {
		if identify(f.Path) != f {
			return false
		}
	}
	return s.Busy == "" || locked(s.Busy)
}

// locked reports whether another sandbox still uses the folder of layers.
func locked(dir string) bool {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil
}

// Discard ends a sandbox in which no command was started, and waits until it has ended.
func (p *Prepared) Discard() {
	_ = unix.Kill(p.pid, unix.SIGKILL)
	p.ended = true
	p.Release()
}

// Release frees the resources of a sandbox whose command has ended.
func (p *Prepared) Release() {
	for p.ended {
		_, err := unix.Wait4(p.pid, nil, 0, nil)
		p.ended = errors.Is(err, unix.EINTR)
	}
	for _, fd := range []*int{&p.conn, &p.mounts, &p.space} {
		if *fd >= 0 {
			unix.Close(*fd)
		}
		*fd = -1
	}
}

// sendAll writes a message. It sends the descriptor with the first bytes.
func sendAll(conn int, message []byte, fd int) error {
	rights := unix.UnixRights(fd)
	for len(message) > 0 {
		n, err := unix.SendmsgN(conn, message, rights, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		message, rights = message[n:], nil
	}
	return nil
}

// receiver reads a line from a socket, and the descriptor that is sent with it.
type receiver struct {
	buf []byte
	fd  int // valid after line has returned a line with it
}

func (r *receiver) line(conn int) ([]byte, error) {
	b, oob := make([]byte, 16<<10), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(conn, b, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.EOF
		}
		r.takeRights(oob[:oobn])
		r.buf = append(r.buf, b[:n]...)
		if end := bytes.IndexByte(r.buf, '\n'); end >= 0 {
			return r.buf[:end], nil
		}
	}
}

func (r *receiver) takeRights(oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return
	}
	if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
		r.fd = fds[0]
	}
}

// state is the report that a prepared sandbox sends when it starts to wait.
type state struct {
	Seen []file `json:"seen"`           // the files at the paths on which the view depends
	Busy string `json:"busy,omitempty"` // the folder of the layers, if another sandbox was using it
}

// file identifies the file that was found at a path. Ino is 0 if there was none.
type file struct {
	Path string `json:"path"`
	Dev  uint64 `json:"dev,omitempty"`
	Ino  uint64 `json:"ino,omitempty"`
}

func identify(path string) file {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return file{Path: path}
	}
	return file{Path: path, Dev: st.Dev, Ino: st.Ino}
}

func identifyFD(path string, fd int) (file, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return file{}, fmt.Errorf("examining %s: %w", path, err)
	}
	return file{Path: path, Dev: st.Dev, Ino: st.Ino}, nil
}
