package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// envNoSubreaper makes the test binary run as if on a kernel that does not support
// PR_SET_CHILD_SUBREAPER. User-mode emulators are such kernels.
const envNoSubreaper = "AGENT_LSP_TEST_NO_SUBREAPER"

func init() {
	if os.Getenv(envNoSubreaper) == "" {
		return
	}
	os.Unsetenv(envNoSubreaper)
	fmt.Fprintln(os.Stderr, "starting without a subreaper:", execWithoutSubreaper())
	os.Exit(1)
}

// execWithoutSubreaper restarts this program under a seccomp filter that all of its children
// inherit.
func execWithoutSubreaper() error {
	runtime.LockOSThread()
	// Offsets in struct seccomp_data. On little-endian machines, the low half of the argument comes
	// first.
	const nr, arg0 = 0, 16
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	unless := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: k}
	}
	prog := []unix.SockFilter{
		stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, nr),
		unless(unix.SYS_PRCTL, 3),
		stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, arg0),
		unless(unix.PR_SET_CHILD_SUBREAPER, 1),
		stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EINVAL)),
		stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW),
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(
		unix.PR_SET_SECCOMP,
		unix.SECCOMP_MODE_FILTER,
		uintptr(unsafe.Pointer(&p)),
		0,
		0,
	); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(exe, os.Args, os.Environ())
}

// TestWithoutSubreaper checks that commands and doctor work on a kernel without subreapers.
func TestWithoutSubreaper(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	put(
		t,
		filepath.Join(home, "model.jsonl"),
		`{"toolCalls":[{"name":"bash","arguments":{"command":"echo from the shell; sleep 600 & `+
			`echo $! >pid"}}]}`+"\n"+`{"expect":{"lastTool":"from the shell"},`+
			`"text":"It ran."}`+"\n",
	)
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
		cmd.Dir = work
		cmd.Env = append(
			os.Environ(),
			envRunMain+"=1",
			envNoSubreaper+"=1",
			"HOME="+home,
			"XDG_STATE_HOME="+home,
			"XDG_CONFIG_HOME="+home,
			"AGENT_LSP_SCRIPT="+filepath.Join(home, "model.jsonl"),
			"AGENT_LSP_SANDBOX=off", // process IDs inside the sandbox would differ
		)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return string(out)
	}
	if out := start(
		"run",
		"--permissions",
		"trust",
		"use the shell",
	); !strings.Contains(
		out,
		"It ran.",
	) {
		t.Errorf("run: %s", out)
	}
	text, err := os.ReadFile(filepath.Join(work, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil &&
		!zombie(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("processes in the command's group outlived it")
		}
	}
	if out := start(
		"doctor",
	); !strings.Contains(
		out,
		"notice: becoming the subreaper: invalid argument: ",
	) {
		t.Errorf("doctor: %s", out)
	}
}

// zombie reports whether a process has exited, even if its init process has not reaped it.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
