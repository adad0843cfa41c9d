package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver/langservertest"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

var update = flag.Bool("update", false, "rewrite the transcripts of the session scripts")

const (
	// envRunMain makes the test binary run the program itself.
	envRunMain = "AGENT_LSP_TEST_RUN_MAIN"
	// envMark identifies a daemon and all of its descendants. Commands inherit it because its name
	// starts with LC_.
	envMark = "LC_AGENT_LSP_TEST_MARK"
	// scriptsAtOnce is the number of scripts that run in parallel.
	scriptsAtOnce = 8
	// endPatience is how long a daemon and its children may take to exit.
	endPatience = 5 * time.Minute
)

// playEditor is called by TestMain. If a test requests it through the environment, playEditor makes
// the test binary act as an editor.
var playEditor = func() {}

// runMainHidden is the value of envRunMain that makes the program hide its environment.
const runMainHidden = "hidden"

func TestMain(m *testing.M) {
	shell.MaybeHelper()
	if os.Getenv(envRunMain) == runMainHidden {
		RunHelper() // hides the environment, by which other tests find this program's processes
	}
	mcptest.MaybeServe()
	playEditor()
	langservertest.MaybeServe()
	if os.Getenv(envRunMain) != "" {
		if err := mountSmallDisk(); err != nil {
			fmt.Fprintln(os.Stderr, "mounting a small disk:", err)
			os.Exit(1)
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := runTested(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	testspeed.Parallel(scriptsAtOnce)
	os.Exit(testspeed.Run(m))
}

// TestSessions runs each session script against the program in-process and, in a full run, also as
// a separate process. A script that kills the daemon, or that needs a small disk of its own, runs
// only as a process.
func TestSessions(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "session")
	paths := sessionScripts(t, root)
	if len(paths) == 0 {
		t.Fatalf("there is no script below %s", root)
	}
	for _, path := range paths {
		if slices.Contains(patient, sessionName(t, root, path)) {
			continue
		}
		t.Run(sessionName(t, root, path), func(t *testing.T) {
			t.Parallel()
			script := loadSession(t, path)
			if script.NeedsDisk() && !canFillDisk {
				t.Skip("only Linux can give a process its own disk")
			}
			alone := script.NeedsKill() || script.NeedsDisk()
			if alone || *update || testspeed.Full() {
				t.Run("process", func(t *testing.T) { playSession(t, path, startProcess, *update) })
			}
			if !alone {
				t.Run("pipe", func(t *testing.T) { playSession(t, path, startInProcess, false) })
			}
		})
	}
}

// patient lists the scripts that wait for several seconds.
var patient = []string{"client/deaf", "client/silent", "language/failures", "models/stall",
	"reach/mcp-hangs"}

// TestSessionsThatWait is TestSessions for the scripts in patient. They all run at the same time
// and in parallel with the others, because they need little processor time.
func TestSessionsThatWait(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	defer all.Wait()
	for _, name := range patient {
		path := filepath.Join("..", "..", "testdata", "session", filepath.FromSlash(name)+".txtar")
		if *update {
			t.Run(name, func(t *testing.T) { playSession(t, path, startProcess, true) })
		}
		all.Go(func() {
			t.Run(name+"/process", func(t *testing.T) { playSession(t, path, startProcess, false) })
		})
		all.Go(func() {
			t.Run(name+"/pipe", func(t *testing.T) { playSession(t, path, startInProcess, false) })
		})
	}
}

// If the script does not set a context window, the scripted model rejects requests that are longer
// than any script needs.
func TestEveryScriptHasAWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "window.txtar")
	text := "-- model.jsonl --\n{\"text\": \"Not reached.\"}\n-- script --\nprompt \"" +
		strings.Repeat("word ", 120000) +
		"\"\nexpect agent/turn/completed {\"turn\": {\"status\": \"failed\", \"error\": {\"kind\": \"context_overflow\"}}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	playSession(t, path, startInProcess, false)
}

// sessionName returns a script's path relative to the folder of all scripts, without its extension.
func sessionName(t *testing.T, root, path string) string {
	t.Helper()
	name, err := filepath.Rel(root, strings.TrimSuffix(path, ".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(name)
}

func sessionScripts(t *testing.T, root string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".txtar") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func loadSession(t *testing.T, path string) *rpctest.Script {
	t.Helper()
	script, err := rpctest.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

func playSession(t *testing.T, path string, start rpctest.Start, update bool) {
	t.Helper()
	loadSession(t, path).Run(t, start, update)
}

// startInProcess runs the program in-process. Its pipes are not files.
func startInProcess(_ testing.TB, args, env []string) rpctest.Daemon {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	log := new(logBuffer)
	code := make(chan int, 1)
	go func() {
		n := runTested(context.Background(), args, env, inR, outW, log)
		outW.Close()
		inR.Close()
		code <- n
	}()
	return rpctest.Daemon{Stdin: inW, Stdout: outR, Log: log.String,
		Wait: func() int { return <-code }}
}

var marks atomic.Int64

// startProcess runs the program as an editor does. When the program has exited, none of its
// descendants may remain.
func startProcess(t testing.TB, args, env []string) rpctest.Daemon {
	var disk string
	for _, e := range env {
		if dir, ok := strings.CutPrefix(e, envSmallDisk+"="); ok {
			disk = dir
		}
	}
	readOnly := slices.ContainsFunc(env,
		func(e string) bool { return strings.HasPrefix(e, envReadOnly+"=") })
	d, mark := startMarked(t, args, env, disk != "" || readOnly)
	if disk != "" {
		d.Disk = func() string { return seenFromOutside(mark, disk) }
	}
	return d
}

// startMarked is like startProcess and also returns the mark that identifies all processes of the
// program. With smallDisk, the program runs in its own mount namespace, in which it can mount what
// envSmallDisk or envReadOnly requests.
func startMarked(t testing.TB, args, env []string, smallDisk bool) (rpctest.Daemon, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := envMark + "=" + strconv.Itoa(os.Getpid()) + "." + strconv.FormatInt(marks.Add(1), 10)
	cmd := exec.Command(exe, args...)
	cmd.Env = append(env, envRunMain+"=1", mark)
	if smallDisk {
		onSmallDisk(cmd)
	}
	return startCommand(t, cmd, func() { wantNoneLeft(t, mark) }), mark
}

// startCommand starts a daemon. Wait calls ended when the daemon has exited.
func startCommand(t testing.TB, cmd *exec.Cmd, ended func()) rpctest.Daemon {
	t.Helper()
	log := new(logBuffer)
	cmd.Stderr = log
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	cmd.Stdin, cmd.Stdout = inR, outW
	cmd.WaitDelay = endPatience // if a child keeps stderr open, the mark identifies it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	wait := sync.OnceValue(func() int {
		_ = cmd.Wait()
		ended()
		return cmd.ProcessState.ExitCode()
	})
	return rpctest.Daemon{Stdin: inW, Stdout: outR, Wait: wait, Log: log.String,
		Kill: func() { _ = cmd.Process.Kill() }}
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// wantNoneLeft fails if a marked process outlives its daemon by more than the time that the
// supervisor may need to stop it.
func wantNoneLeft(t testing.TB, mark string) {
	t.Helper()
	var left []string
	end := time.Now().Add(endPatience)
	for ; time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if left = marked(mark); len(left) == 0 {
			return
		}
	}
	t.Errorf("the daemon left processes behind: %s", strings.Join(left, "; "))
}

// marked returns the processes whose environment contains the mark, if the system exposes
// environments.
func marked(mark string) (found []string) {
	for _, pid := range processes() {
		data, err := os.ReadFile(filepath.Join("/proc", pid, "environ"))
		if err != nil || !bytes.Contains(append(data, 0), []byte(mark+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		found = append(found, pid+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return found
}

// processes returns the IDs of all processes, if the system lists them. It does not use a glob,
// because that would read the folder of each process.
func processes() (pids []string) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	return slices.DeleteFunc(names,
		func(name string) bool { return name[0] < '0' || name[0] > '9' })
}

// logBuffer collects a daemon's stderr.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Each API has a session script for each of the listed topics.
func TestScriptsOfEachAPI(t *testing.T) {
	for _, api := range []string{"chat", "responses", "anthropic", "gemini"} {
		for _, topic := range []string{
			"text", "tools", "thinking", "refusal", "overflow", "abort", "fallback",
		} {
			name := api + "-" + topic + ".txtar"
			path := filepath.Join("..", "..", "testdata", "session", "models", name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			} else if api != "chat" && !strings.Contains(string(text), `"api": "`+api+`"`) {
				t.Errorf("%s does not select the API", name)
			}
		}
	}
}
