//go:build amd64 || arm64

package launcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// linger is how long the processes that a finished command left behind may continue to run. This
// gives the last process of a pipeline time to write its last line. Package shell uses the same
// value.
const linger = 200 * time.Millisecond

// A process that was started as the launcher does not get past this init function, which runs
// before later packages are initialized. Otherwise, every command would pay for their
// initialization.
func init() { MaybeRun() }

// MaybeRun turns the process into the launcher and never returns if it was started as a launcher.
func MaybeRun() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == prepareArg:
		go func() { exit(runLater(os.Args[2])) }()
	case len(os.Args) >= 5 && os.Args[1] == runArg && os.Args[3] == "--":
		go func() { exit(runNow(os.Args[2], os.Args[4:])) }()
	default:
		return
	}
	select {}
}

// exit ends the process without the hooks of os.Exit. There are no hooks here, but under the race
// detector os.Exit sleeps for a second.
func exit(code int) { syscall.Exit(code) }

// runNow creates the sandbox, runs the command in it and returns the exit code.
func runNow(encoded string, argv []string) int {
	dir, _ := os.Getwd() // chdir reports an error if the folder does not exist
	b, err := prepare(encoded)
	if err != nil {
		return failed(err)
	}
	return b.run(Start{Argv: argv, Env: os.Environ(), Dir: dir})
}

// runLater creates the sandbox and runs the command that it receives. If it receives none, it ends
// when the process that would send the command ends.
func runLater(encoded string) int {
	unix.CloseOnExec(commandFD)
	b, err := prepare(encoded)
	if err != nil {
		return failed(err)
	}
	line, err := json.Marshal(b.view.state)
	if err != nil {
		return failed(err)
	}
	if _, err := unix.Write(commandFD, append(line, '\n')); err != nil {
		return exitFailed
	}
	var r receiver
	var c Start
	if line, err = r.line(commandFD); err != nil || json.Unmarshal(line, &c) != nil {
		return exitFailed
	}
	for _, fd := range []int{1, 2} {
		if err := unix.Dup3(r.fd, fd, 0); err != nil {
			return exitFailed
		}
	}
	unix.Close(r.fd)
	b.report = commandFD
	return b.run(c)
}

// commandFD is the socket on which a prepared sandbox receives its command.
const commandFD = 3

// sandbox is a sandbox whose command has not been started.
type sandbox struct {
	view   *view
	forker *forker
	proxy  int // connection to the proxy, -1 if there is none
	report int // socket on which the end of the command is reported, -1 if there is none
}

// prepare creates all parts of the sandbox that do not depend on the command.
func prepare(encoded string) (*sandbox, error) {
	v := &view{spec: &Spec{}}
	if err := json.Unmarshal([]byte(encoded), v.spec); err != nil {
		return nil, fmt.Errorf("reading the sandbox's description: %w", err)
	}
	if os.Getpid() != 1 {
		return nil, errors.New("this argument is for internal use: it needs a process namespace")
	}
	// A command cannot end the process that maintains its sandbox. The daemon ends it with SIGKILL.
	// The signals are caught instead of ignored, because the command would inherit ignored signals.
	signal.Notify(
		make(chan os.Signal, 1),
		syscall.SIGTERM,
		syscall.SIGINT,
		syscall.SIGHUP,
		syscall.SIGQUIT,
		syscall.SIGPIPE,
	)
	proxy, err := v.spec.connectProxy() // the proxy's socket is about to be hidden
	if err != nil {
		return nil, err
	}
	lock, err := v.spec.openLock() // the lock file is about to be hidden
	if err != nil {
		return nil, err
	}
	roots, err := v.enter()
	if err != nil {
		return nil, err
	}
	f, err := newForker(&broker{roots: roots, lock: lock})
	if err != nil {
		return nil, err
	}
	return &sandbox{view: v, forker: f, proxy: proxy, report: -1}, nil
}

// run runs the command and returns the exit code.
func (b *sandbox) run(c Start) int {
	env, token := takeToken(c.Env)
	if b.view.spec.Dir != "" {
		c.Dir = b.view.spec.Dir
	}
	if err := b.finish(c.Dir); err != nil {
		return failed(err)
	}
	b.forker.broker.guard(b.view.guards)
	if b.proxy >= 0 && token != "" {
		if err := OfferProxy(b.proxy, token); err != nil {
			return failed(err)
		}
	}
	path, err := lookPath(c.Argv[0], env)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-lsp: starting", c.Argv[0], "in the sandbox:", err)
		return exitNotFound
	}
	// The command runs with the same user ID and could otherwise read this memory.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failed(fmt.Errorf("hiding the launcher's memory: %w", err))
	}
	pid, err := b.forker.run(executable{path, c.Argv, env})
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-lsp: starting %s in the sandbox: %v\n", path, err)
		return exitNotRunning
	}
	releaseStdio()
	return reap(b.forker.broker, pid, b.report)
}

// finish completes the view for the command. Meanwhile, the commands in the user's other sandboxes
// cannot change names. Otherwise, a command in one of them could move a secret file between the
// moment when it is found and the moment when it is masked.
func (b *sandbox) finish(dir string) error {
	if lock := b.forker.broker.lock; lock >= 0 {
		if err := exclude(lock); err != nil {
			return fmt.Errorf("locking the workspace: %w", err)
		}
		defer func() { _ = unix.Flock(lock, unix.LOCK_UN) }()
	}
	return b.view.finish(dir)
}

// connectProxy returns a connection to the proxy, which closes when this process ends, or -1 if
// there is no proxy.
func (s *Spec) connectProxy() (int, error) {
	if s.Proxy == "" {
		return -1, nil
	}
	return DialProxy(s.Proxy)
}

// openLock opens the file that all sandboxes of the user lock, or returns -1 if there is none.
func (s *Spec) openLock() (int, error) {
	if s.Lock == "" {
		return -1, nil
	}
	fd, err := unix.Open(s.Lock, unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, fmt.Errorf("opening %s: %w", s.Lock, err)
	}
	return fd, nil
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "agent-lsp: creating the sandbox:", err)
	return exitFailed
}

// forker starts the command from a separate thread that has installed the filter. The other threads
// of the process are not filtered. One of them runs the broker.
type forker struct {
	broker *broker
	start  chan executable
	done   chan forked
}

// executable is a command whose file has been found.
type executable struct {
	path      string
	argv, env []string
}

type forked struct {
	pid int
	err error
}

// newForker confines a new thread. If there are roots that the command may change, it also starts
// the broker.
func newForker(b *broker) (*forker, error) {
	f := &forker{
		broker: b,
		start:  make(chan executable),
		done:   make(chan forked),
	}
	go f.serve()
	ready := <-f.done
	return f, ready.err
}

func (f *forker) serve() {
	runtime.LockOSThread() // permanently, because this thread must not be used for anything else
	listener, err := confine(len(f.broker.roots) > 0)
	if err == nil && listener >= 0 {
		f.broker.listener = listener
		go f.broker.serve()
	}
	if err == nil {
		// This call fails, but it loads what the next call needs.
		_, _ = fork(executable{path: "/", argv: []string{"/"}})
	}
	f.done <- forked{err: err}
	pid, err := fork(<-f.start)
	unix.Umask(0) // the command already has its own umask; the broker applies it
	f.done <- forked{pid, err}
	select {}
}

// run starts the command.
func (f *forker) run(p executable) (pid int, err error) {
	f.start <- p
	done := <-f.done
	return done.pid, done.err
}

func fork(p executable) (pid int, err error) {
	return syscall.ForkExec(p.path, p.argv, &syscall.ProcAttr{
		Env: append(p.env, gitLocks), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// gitLocks prevents git from refreshing its index, which it cannot write.
const gitLocks = "GIT_OPTIONAL_LOCKS=0"

// releaseStdio closes the launcher's stdin and stdout, so that readers of stdout see its end when
// the command's processes have ended. stderr stays open for the note at the end.
func releaseStdio() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.Dup3(null, 0, 0)
	_ = unix.Dup3(null, 1, 0)
	unix.Close(null)
}

// closeOutput closes the launcher's stderr.
func closeOutput() { _ = unix.Dup3(0, 2, 0) }

// reap waits for the command to end. It then waits at most linger for the processes that the
// command left behind. If none is left, reap sends the exit code on the socket report, because this
// process takes longer to end.
func reap(b *broker, main, report int) int {
	code := exitFailed
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no child is left
			b.note()
			if report >= 0 {
				closeOutput()
				_, _ = unix.Write(report, []byte{byte(code)})
			}
			return code
		case pid == main:
			code = exitCode(ws)
			time.AfterFunc(linger, func() {
				b.note()
				exit(code)
			})
		}
	}
}

func exitCode(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}
