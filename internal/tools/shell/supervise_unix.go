//go:build !windows

package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// The descriptors that the daemon passes to the supervisor.
const (
	controlFD = 3
	statusFD  = 4
)

func helperPipes() (control, status *os.File, err error) {
	for _, fd := range []int{controlFD, statusFD} {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return nil, nil, fmt.Errorf("descriptor %d is missing", fd)
		}
		unix.CloseOnExec(fd)
	}
	return os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status"), nil
}

// catchSignals returns a channel with the signals to the supervisor that make it end the command.
func catchSignals() <-chan os.Signal {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	// SIGPIPE is caught and not ignored, because the command would inherit an ignored signal. Its
	// pipes would then fail in unexpected ways.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return end
}

// listen reads orders, and the descriptors sent with them, from the control socket.
func listen(f *os.File) orders { return &orderReader{file: f, fd: int(f.Fd())} }

// orderReader splits the data from a socket into lines.
type orderReader struct {
	file   *os.File // holds fd open
	fd     int
	buf    []byte
	output *os.File
}

func (r *orderReader) next() (given, error) {
	for {
		if i := bytes.IndexByte(r.buf, '\n'); i >= 0 {
			o := given{line: r.buf[:i]}
			if r.buf = r.buf[i+1:]; len(r.buf) == 0 { // otherwise output belongs to the next order
				o.output, r.output = r.output, nil
			}
			return o, nil
		}
		if err := r.fill(); err != nil {
			return given{}, err
		}
	}
}

// fill reads once. A descriptor arrives with the first byte of its order, and ends the read. That
// byte can be read together with the order before it.
func (r *orderReader) fill() error {
	b, oob := make([]byte, 16<<10), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(r.fd, b, oob, 0)
	switch {
	case err == unix.EINTR:
		return nil
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	}
	r.buf = append(r.buf, b[:n]...)
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) == 0 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err == nil && len(fds) == 1 {
		unix.CloseOnExec(fds[0])
		r.output = os.NewFile(uintptr(fds[0]), "output")
	}
	return nil
}

// start starts the command, in a sandbox if the order contains one. The caller holds mu.
func (s *supervisor) start() error {
	// If this fails, a process that leaves the command's group and session may outlive the command.
	_ = becomeSubreaper()
	if !s.startPrepared() {
		s.discard() // the command's own sandbox needs the folder of the layers
		fork := s.fork
		if s.order.Sandbox.Enters() {
			fork = s.forkApart
		}
		pid, err := fork()
		if err != nil {
			return err
		}
		s.main = pid
	}
	if s.output != nil {
		s.output.Close() // the output ends when the command's processes end
	} else {
		freeStdio()
	}
	return nil
}

// startPrepared starts the command in the prepared sandbox, if that sandbox still suits it. The
// caller holds mu.
func (s *supervisor) startPrepared() bool {
	if s.ahead == nil || s.output == nil {
		return false
	}
	o := &s.order
	pid, ok := s.ahead.Start(o.Sandbox, o.Argv, o.Env, o.Dir, s.output.Fd())
	if !ok {
		return false
	}
	s.main, s.box, s.ahead = pid, s.ahead, nil
	return true
}

// stdio returns the command's stdin, stdout and stderr.
func (s *supervisor) stdio() []uintptr {
	if s.output == nil {
		return []uintptr{0, 1, 2}
	}
	return []uintptr{0, s.output.Fd(), s.output.Fd()}
}

// forkApart forks on a thread that is not the first thread of the process and is used for nothing
// else. A sandboxed process may signal processes in the same sandbox, and a process counts as being
// in the sandbox of its first thread. Without this, a command could kill its supervisor.
func (s *supervisor) forkApart() (pid int, err error) {
	forked := make(chan struct{})
	go func() {
		runtime.LockOSThread() // permanently, because the goroutine keeps the thread until it ends
		if isFirstThread() {
			pid, err = s.forkApart()
		} else {
			pid, err = s.fork()
		}
		close(forked)
		select {}
	}()
	<-forked
	return pid, err
}

// fork enters the sandbox on this thread only, and starts the command from it.
func (s *supervisor) fork() (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	o := &s.order
	env := o.Env
	if o.Dir != "" {
		if err := os.Chdir(o.Dir); err != nil {
			return 0, fmt.Errorf("starting a command: %w", err)
		}
	}
	argv := o.Sandbox.Wrap(o.Argv)
	path, err := lookPath(argv[0], env)
	if err != nil {
		return 0, err
	}
	if err := o.Sandbox.Enter(); err != nil {
		return 0, err
	}
	files := s.stdio()
	proxy, err := o.Sandbox.Dial()
	if err != nil {
		return 0, err
	}
	if proxy >= 0 {
		s.proxy, files = proxy, append(files, uintptr(proxy))
	}
	attr := &syscall.SysProcAttr{Setsid: true}
	o.Sandbox.CommandAttr(attr)
	if err := sandbox.DropTracing(); err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: files, Sys: attr})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", path, err)
	}
	return pid, nil
}

// closeProxy ends the connection to the proxy. This notifies the proxy that the command has ended.
func (s *supervisor) closeProxy() {
	if s.proxy > 0 {
		unix.Close(s.proxy)
	}
	s.proxy = 0
}

func lookPath(name string, env []string) (string, error) {
	os.Unsetenv("PATH") // the PATH of the last command
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			os.Setenv("PATH", v)
		}
	}
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("starting %s: no such program on PATH", name)
	}
	return path, nil
}

// freeStdio closes the supervisor's copies of the command's pipes, so that the pipes end with the
// command's processes.
func freeStdio() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = dup2(null, fd)
	}
}

// wait reaps every process below the supervisor until the last one has ended. It may reap any
// child, because this process starts no other children.
func (s *supervisor) wait() {
	if s.box != nil {
		if code, ok := s.box.Wait(); ok {
			s.over(report{Exited: true, Code: code})
			return
		}
	}
	var exit report // the command's status, until it is sent
	for {
		var ws syscall.WaitStatus
		flags := 0
		if exit.Exited { // usually no process is left, and then one report is enough
			flags = syscall.WNOHANG
		}
		pid, err := syscall.Wait4(-1, &ws, flags, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			signalGroup(s.main, true) // the processes in the group are not its children
			s.over(exit)
			return
		case pid == 0:
			s.left(exit)
			exit = report{}
		case pid == s.main:
			exit = exitReport(ws)
		}
	}
}

func exitReport(ws syscall.WaitStatus) report {
	if ws.Signaled() {
		return report{Exited: true, Code: -1, Signal: unix.SignalName(ws.Signal())}
	}
	return report{Exited: true, Code: ws.ExitStatus()}
}

// signalAll sends SIGTERM or SIGKILL to every descendant, and returns how many there were.
func (s *supervisor) signalAll(kill bool) int {
	signalGroup(s.main, kill)
	pids := descendants(os.Getpid())
	for _, pid := range pids {
		if kill {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGTERM)
		_ = syscall.Kill(pid, syscall.SIGCONT) // a stopped process would not react to SIGTERM
	}
	return len(pids)
}
