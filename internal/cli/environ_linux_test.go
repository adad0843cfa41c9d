package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNoProcessShowsTheDaemonsKeys runs a command that reads the environments of all processes, in
// the sandbox and without one, as this user and as an ordinary one. The daemon has a key in its
// environment, and so has a process that does not hide it, by which the test sees that it can read.
func TestNoProcessShowsTheDaemonsKeys(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/var/tmp", "agent-lsp-environ-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	exe := filepath.Join(dir, "test")
	if out, err := exec.Command("cp", os.Args[0], exe).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	put(t, dir+"/model.jsonl", `{"toolCalls":[{"name":"bash","arguments":{"command":"`+
		`cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep CANARY > found; `+
		`touch ran"}}]}`+
		"\n"+`{"text":"done"}`+"\n")
	users := []int{os.Getuid()}
	if os.Getuid() == 0 {
		users = append(users, 12345)
	}
	for _, user := range users {
		for _, setting := range []string{"off", "auto"} {
			found := environsSeen(t, exe, dir, user, setting)
			if strings.Contains(found, "DAEMON_CANARY") {
				t.Errorf("user %d, sandbox %s: %s", user, setting, found)
			}
			if setting == "off" && !strings.Contains(found, "OPEN_CANARY") {
				t.Errorf("user %d: the command could not read any environment", user)
			}
		}
	}
}

// environsSeen runs the agent as a user and returns what its command found.
func environsSeen(t *testing.T, exe, dir string, user int, setting string) string {
	t.Helper()
	as := &syscall.SysProcAttr{}
	work := filepath.Join(dir, "work")
	if err := os.RemoveAll(work); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if user != os.Getuid() {
		as.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
		for _, f := range []string{dir, dir + "/model.jsonl", work, exe} {
			if err := os.Chown(f, user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	open := exec.Command("sleep", "600")
	open.Env, open.SysProcAttr = []string{"OPEN_CANARY=1"}, as
	if err := open.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Process.Kill(); _ = open.Wait() }()
	cmd := exec.Command(exe, "run", "--permissions", "trust", "hello")
	cmd.Dir, cmd.SysProcAttr = work, as
	cmd.Env = []string{
		envRunMain + "=" + runMainHidden, "OPENAI_API_KEY=DAEMON_CANARY", "MY_TOKEN=DAEMON_CANARY",
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state" + setting,
		"AGENT_LSP_SCRIPT=" + dir + "/model.jsonl", "AGENT_LSP_SANDBOX=" + setting,
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("user %d, sandbox %s: %v %s", user, setting, err, out)
	}
	if _, err := os.Stat(work + "/ran"); err != nil {
		t.Fatal("the command did not run: ", err)
	}
	found, err := os.ReadFile(work + "/found")
	if err != nil {
		t.Fatal(err)
	}
	return string(found)
}
