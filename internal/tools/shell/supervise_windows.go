package shell

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// helperPipes opens the handles that are passed by number in the arguments.
func helperPipes() (control, status *os.File, err error) {
	if len(os.Args) != 4 {
		return nil, nil, fmt.Errorf("the handles are missing")
	}
	var h [2]uintptr
	for i := range h {
		n, err := strconv.ParseUint(os.Args[2+i], 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("handle %q is not a number", os.Args[2+i])
		}
		h[i] = uintptr(n)
		_ = windows.SetHandleInformation(windows.Handle(h[i]), windows.HANDLE_FLAG_INHERIT, 0)
	}
	return os.NewFile(h[0], "control"), os.NewFile(h[1], "status"), nil
}

// catchSignals returns nil, because the system sends no signals to a process without a console.
func catchSignals() <-chan os.Signal { return nil }

// listen reads the control pipe. After the pipe's only order, the supervisor ends everything if
// another line arrives or the pipe ends.
func listen(f *os.File) orders { return lineReader{bufio.NewReader(f)} }

type lineReader struct{ r *bufio.Reader }

func (l lineReader) next() (given, error) {
	line, err := l.r.ReadBytes('\n')
	return given{line: line}, err
}

// start puts the supervisor itself in a Job Object, so that the command starts in the job, and then
// starts the command. The job ends all its processes when its last handle is closed, which happens
// when the supervisor ends for any reason. The caller holds mu.
func (s *supervisor) start() error {
	if err := enterJob(); err != nil {
		return err
	}
	cmd := exec.Command(s.order.Argv[0], s.order.Argv[1:]...)
	cmd.Dir, cmd.Env = s.order.Dir, s.order.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	for _, kv := range s.order.Env {
		if k, v, _ := strings.Cut(kv, "="); strings.EqualFold(k, "PATH") {
			os.Setenv("PATH", v)
		}
	}
	if path, err := exec.LookPath(s.order.Argv[0]); err == nil {
		cmd.Path, cmd.Err = path, nil
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", s.order.Argv[0], err)
	}
	s.main, running = cmd.Process.Pid, cmd
	os.Stdin.Close()
	os.Stdout.Close()
	os.Stderr.Close()
	return nil
}

// running is the command. On this system, a supervisor runs only one command.
var running *exec.Cmd

// wait waits for the command itself. Processes that the command leaves behind end with the job.
func (s *supervisor) wait() {
	_ = running.Wait()
	s.left(report{Exited: true, Code: running.ProcessState.ExitCode()})
}

func enterJob() error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("creating the job: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return fmt.Errorf("setting the job's limits: %w", err)
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		return fmt.Errorf("entering the job: %w", err)
	}
	return nil
}

// signalAll ends the supervisor, because this system cannot ask a process tree to end. When the
// supervisor ends, the job closes and ends every process in it.
func (s *supervisor) signalAll(bool) int {
	_ = s.status.Encode(report{Done: true})
	os.Exit(0)
	return 0
}
