package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// TestNoProcessShowsTheDaemonsKeys starts an agent that has a key in its environment. It also
// starts a program that searches for the key in the environment and the memory of the agent and of
// its supervisors. The program runs as a command, hook, formatter, MCP server and language server,
// with and without the sandbox, as the current user and, if that is root, as an ordinary user. The
// program also starts a process that has another key, which the program must find. This shows that
// the search works.
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
	users := []int{os.Getuid()}
	if os.Getuid() == 0 {
		users = append(users, 12345)
	}
	for i, user := range users {
		for j, setting := range []string{"auto", "off"} {
			// With the race detector, reading a process's memory is slow.
			if !testspeed.Heavy(2*i + j) {
				continue
			}
			found := keysFound(t, exe, dir, user, setting)
			for _, as := range []string{"command", "hook", "formatter", "mcp", "lsp"} {
				got := found[as]
				if strings.Contains(got, "DAEMON") {
					t.Errorf("user %d, sandbox %s, %s: found\n%s", user, setting, as, got)
				}
				if !strings.Contains(got, "OPEN environ") || !strings.Contains(got, "OPEN memory") {
					t.Errorf("user %d, sandbox %s, %s: could not read its own process: %q",
						user, setting, as, got)
				}
			}
		}
	}
}

// keysFound runs the agent as the given user. It returns the keys that the program found, by the
// role in which the program ran.
func keysFound(t *testing.T, exe, dir string, user int, setting string) map[string]string {
	t.Helper()
	as := &syscall.SysProcAttr{}
	work, home := filepath.Join(dir, "work"), filepath.Join(dir, "home"+setting)
	for _, d := range []string{work, home} {
		if err := os.RemoveAll(d); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir+"/model.jsonl", keyModel(exe, work))
	put(t, home+"/settings.json", keySettings(t, exe, work))
	if user != os.Getuid() {
		as.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
		files := []string{dir, dir + "/model.jsonl", work, home, home + "/settings.json", exe}
		for _, f := range files {
			if err := os.Chown(f, user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(exe, "run", "--permissions", "trust", "hello")
	cmd.Dir, cmd.SysProcAttr = work, as
	cmd.Env = []string{
		envRunMain + "=" + runMainHidden, "OPENAI_API_KEY=DAEMON_CANARY", "MY_TOKEN=DAEMON_CANARY",
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + home + "/state",
		"AGENT_LSP_CONFIG=" + home + "/settings.json",
		"AGENT_LSP_SCRIPT=" + dir + "/model.jsonl", "AGENT_LSP_SANDBOX=" + setting,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("user %d, sandbox %s: %v %s", user, setting, err, out)
	}
	found := map[string]string{}
	files, err := filepath.Glob(work + "/found-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(filepath.Base(f), "found-")] = string(b)
	}
	if len(found) < 5 {
		t.Logf("user %d, sandbox %s: %s", user, setting, out)
	}
	return found
}

// keyModel returns the script of a model that runs the program as a command, and makes an edit,
// which runs the formatter and queries the language server. The model then waits for the language
// server's results, because the server is stopped at the end of the run.
func keyModel(exe, work string) string {
	command := fmt.Sprintf("%s %s %s/found-command", exe, findKeysArg, work)
	return fmt.Sprintf(`{"toolCalls":[{"name":"bash","arguments":{"command":"%s"}}]}
{"toolCalls":[{"name":"write","arguments":{"path":"a.canary","content":"text\n"}}]}
{"toolCalls":[{"name":"bash","arguments":{"command":"%s"}}]}
{"text":"done"}
`, command, "until [ -e found-lsp ]; do sleep 0.1; done")
}

func keySettings(t *testing.T, exe, work string) string {
	t.Helper()
	program := func(as string) map[string]any {
		return map[string]any{"command": exe, "args": []string{findKeysArg, work + "/found-" + as}}
	}
	server := program("lsp")
	server["extensions"] = []string{".canary"}
	formatter := program("formatter")
	formatter["timeoutMs"] = 120_000 // searching memory is slow under the race detector
	b, err := json.Marshal(map[string]any{
		"hooks":           map[string]any{"beforeRun": []any{program("hook")}},
		"formatters":      map[string]any{"*.canary": formatter},
		"mcpServers":      map[string]any{"canary": program("mcp")},
		"languageServers": map[string]any{"canary": server},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// findKeysArg makes the test binary act as the program that searches for keys.
const findKeysArg = "--find-keys"

func init() {
	if len(os.Args) == 3 && os.Args[1] == findKeysArg {
		findKeys(os.Args[2])
		_, _ = io.Copy(os.Stdout, os.Stdin) // a formatter prints its input
		os.Exit(0)
	}
}

// findKeys searches for keys in this process's ancestors, up to the agent, and in a process that it
// starts. It writes the result to the file named by the parameter to.
func findKeys(to string) {
	open := exec.Command("sleep", "600")
	open.Env = []string{"KEY=" + strings.Join([]string{"OPEN", "CANARY"}, "_")}
	if err := open.Start(); err != nil {
		return
	}
	pids := []int{open.Process.Pid}
	// Start returns as soon as exec has closed the files. At that time, the environment may not be
	// in memory yet.
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pids[0])); len(b) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for pid := os.Getppid(); pid > 0; pid = parentOf(pid) {
		pids = append(pids, pid)
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(line, []byte("\x00run\x00")) { // this process is the agent
			break
		}
	}
	var found []string
	for _, pid := range pids {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		found = append(found, keysIn(environ, "environ")...)
		found = append(found, keysInMemory(pid)...)
	}
	_ = open.Process.Kill()
	_ = open.Wait()
	slices.Sort(found)
	_ = os.WriteFile(to+".new", []byte(strings.Join(slices.Compact(found), "\n")), 0o600)
	_ = os.Rename(to+".new", to)
}

// keysIn returns the keys that b contains.
func keysIn(b []byte, where string) (found []string) {
	for _, whose := range []string{"OPEN", "DAEMON"} {
		if bytes.Contains(b, []byte(whose+"_"+"CANARY")) {
			found = append(found, whose+" "+where)
		}
	}
	return found
}

// keysInMemory searches the writable mappings of a process, except those larger than 256 MiB. It
// reads the memory in pieces, because a buffer as large as a mapping takes seconds under the race
// detector. Adjacent pieces overlap by more than the length of a key.
func keysInMemory(pid int) (found []string) {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil
	}
	defer mem.Close()
	const overlap = 64
	b := make([]byte, 1<<20)
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		from, to, _ := strings.Cut(fields[0], "-")
		start, _ := strconv.ParseInt(from, 16, 64)
		end, _ := strconv.ParseInt(to, 16, 64)
		if !strings.HasPrefix(fields[1], "rw") || end-start > 256<<20 {
			continue
		}
		for at := start; at < end; at += int64(len(b)) - overlap {
			n, _ := mem.ReadAt(b[:min(int64(len(b)), end-at)], at)
			if n == 0 {
				break
			}
			found = append(found, keysIn(b[:n], "memory")...)
		}
	}
	return found
}

// parentOf returns the parent of a process, or 0 if the process no longer exists.
func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
