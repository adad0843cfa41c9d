//go:build amd64 || arm64

package launcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// linger is how long what a finished command left behind may still run, as for other commands: time
// for the end of a pipeline to write its last line.
const linger = 200 * time.Millisecond

// A process that was started as the launcher is one from here on, before the packages that are
// initialised after this one, whose cost each command would pay.
func init() { MaybeRun() }

// MaybeRun turns the process into the launcher, and never returns, if it was started as one.
func MaybeRun() {
	if len(os.Args) < 5 || os.Args[1] != runArg || os.Args[3] != "--" {
		return
	}
	go func() { exit(run(os.Args[2], os.Args[4:])) }()
	select {}
}

// exit ends the process without the hooks of os.Exit. There are none here, but under the race
// detector os.Exit sleeps for a second.
func exit(code int) { syscall.Exit(code) }

// run makes the sandbox, runs the command in it and returns the exit code.
func run(encoded string, argv []string) int {
	var s Spec
	if err := json.Unmarshal([]byte(encoded), &s); err != nil {
		return failed(fmt.Errorf("reading the sandbox's description: %w", err))
	}
	if os.Getpid() != 1 {
		return failed(errors.New("this argument is for internal use: it needs a process namespace"))
	}
	// A command cannot end the process that holds its sandbox. The daemon ends it with SIGKILL.
	// Caught, not ignored: the command would inherit ignored signals.
	signal.Notify(
		make(chan os.Signal, 1),
		syscall.SIGTERM,
		syscall.SIGINT,
		syscall.SIGHUP,
		syscall.SIGQUIT,
		syscall.SIGPIPE,
	)
	if s.Dir == "" {
		s.Dir, _ = os.Getwd() // chdir reports it where there is none
	}
	token := takeToken()
	proxy, err := s.connectProxy() // its socket is about to be hidden
	if err != nil {
		return failed(err)
	}
	roots, err := s.enter()
	if err != nil {
		return failed(err)
	}
	if proxy >= 0 && token != "" {
		if err := OfferProxy(proxy, token); err != nil {
			return failed(err)
		}
	}
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		fmt.Fprintf(
			os.Stderr,
			"agent-lsp: starting %s in the sandbox: no such program on PATH\n",
			argv[0],
		)
		return exitNotFound
	}
	if err := unix.Prctl(
		unix.PR_SET_DUMPABLE,
		0,
		0,
		0,
		0,
	); err != nil { // the command has the same user number
		return failed(fmt.Errorf("hiding the launcher's memory: %w", err))
	}
	b := &broker{roots: roots}
	pid, err := start(b, path, argv)
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-lsp: starting %s in the sandbox: %v\n", path, err)
		return exitNotRunning
	}
	releaseStdio()
	return reap(b, pid)
}

// connectProxy returns a connection to the proxy, which ends with this process; -1 without a proxy.
func (s *Spec) connectProxy() (int, error) {
	if s.Proxy == "" {
		return -1, nil
	}
	return DialProxy(s.Proxy)
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "agent-lsp: making the sandbox:", err)
	return exitFailed
}

// start runs the command from a thread of its own that has entered the filter. The rest of the
// process stays outside the filter and serves it.
func start(b *broker, path string, argv []string) (pid int, err error) {
	defer unix.Umask(0) // the command has its own by then; the broker applies that
	started := make(chan struct{})
	go func() {
		defer close(started)
		runtime.LockOSThread() // for good: this thread must serve nothing else
		var listener int
		if listener, err = confine(len(b.roots) > 0); err != nil {
			return
		}
		if listener >= 0 {
			b.listener = listener
			go b.serve()
		}
		pid, err = syscall.ForkExec(
			path,
			argv,
			&syscall.ProcAttr{
				Env:   append(os.Environ(), gitLocks),
				Files: []uintptr{0, 1, 2},
				Sys:   &syscall.SysProcAttr{Setsid: true},
			},
		)
	}()
	<-started
	return pid, err
}

// gitLocks stops git from refreshing its index, which it cannot write.
const gitLocks = "GIT_OPTIONAL_LOCKS=0"

// releaseStdio closes the launcher's copies of the command's output, so that its readers see the
// end when the command's processes have ended. The note at the end goes to what was stderr.
func releaseStdio() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.Dup3(null, 0, 0)
	_ = unix.Dup3(null, 1, 0)
	unix.Close(null)
}

// reap waits for the command and for the processes that it leaves behind, for linger at most.
func reap(b *broker, main int) int {
	code := exitFailed
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no child is left
			b.note()
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
