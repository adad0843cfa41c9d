package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// TestASessionsCommandsRunInOurSandbox checks that the commands of a session run in the sandbox,
// share the session's private folders from one command to the next, and leave none of these folders
// behind.
func TestASessionsCommandsRunInOurSandbox(t *testing.T) {
	if box := sandbox.Detect(); box.Kind != sandbox.Own {
		t.Skip("this machine uses another sandbox: " + box.Why)
	}
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(dir)
	put(
		t,
		"model.jsonl",
		`{"toolCalls":[{"name":"bash","arguments":{"command":"echo kept > /tmp/kept; cp /tmp/kept ~; touch made .envrc"}}]}
{"expect":{"lastTool":"envrc"},"toolCalls":[{"name":"bash","arguments":{"command":"cat /tmp/kept ~/kept; ls -A ~; touch .vscode"}}]}
{"expect":{"lastTool":"kept\\nkept\\nkept"},"text":"done"}
`,
	)
	env := []string{
		"HOME=" + home,
		"PATH=" + os.Getenv("PATH"),
		"XDG_STATE_HOME=" + home + "/state",
		"AGENT_LSP_SCRIPT=model.jsonl",
	}
	out, errs, code := play(t, env, "run", "--permissions", "workspace", "hello")
	if code != exitOK || !strings.Contains(out, "done") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if left, err := filepath.Glob(home + "/state/agent-lsp/scratch/run-*"); err != nil ||
		len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	if _, err := os.Stat(home + "/state/agent-lsp/scratch"); err != nil {
		t.Errorf("the commands used no scratch folder: %v; the test checks nothing", err)
	}
	for name, want := range map[string]bool{"made": true, ".envrc": false, ".vscode": false} {
		if _, err := os.Lstat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDoctorNamesTheSandbox(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(home+"/.cargo/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, _, _ := play(t, env, "doctor")
	box := sandbox.Detect()
	if !strings.Contains(out, "sandbox: "+box.Describe()) ||
		box.Kind == sandbox.Own && !strings.Contains(out, "parts of the home folder: .cargo/bin") {
		t.Errorf("got %s", out)
	}
	if out, _, _ := play(t, append(env, "AGENT_LSP_SANDBOX=off"), "doctor"); !strings.Contains(
		out,
		"sandbox: off in the settings",
	) {
		t.Errorf("got %s", out)
	}
}

func TestDoctorNamesTheHosts(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "AGENT_LSP_CONFIG=" + home + "/config.json",
	}
	check := func(want ...string) {
		t.Helper()
		out, _, _ := play(t, env, "doctor")
		for _, line := range want {
			if !strings.Contains(out, line+"\n") {
				t.Errorf("the line %q is missing from\n%s", line, out)
			}
		}
	}
	check("hosts allowed without asking (network.allow): none",
		"hosts denied (network.deny): none")
	put(t, home+"/config.json",
		`{"network": {"allow": ["*.example.org", "10.0.0.0/8"], "deny": ["x.example.org"]}}`)
	check("hosts allowed without asking (network.allow): *.example.org, 10.0.0.0/8",
		"hosts denied (network.deny): x.example.org")
}

// TestWhatCommandsInherit checks the environment of a read-only command and of a command with more
// permissions, with and without the sandbox.
func TestWhatCommandsInherit(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(dir)
	put(
		t,
		home+"/config.json",
		`{"environment": {"pass": ["MY_FLAG"]}, "shell": {"passEnv": ["OLD_TOKEN"]}}`,
	)
	more := `sh -c 'echo $MY_FLAG.$OLD_TOKEN.$OTHER.$A_TOKEN.$GOPATH.$USER.$HOME; touch made'`
	put(
		t,
		"model.jsonl",
		`{"toolCalls":[{"name":"bash","arguments":{"command":"printenv GOPATH USER MY_FLAG OTHER OLD_TOKEN HOME"}}]}
{"expect":{"lastTool":"^[^/]*flag\\nold\\n[^\\n]*(HOME)"},"toolCalls":[{"name":"bash","arguments":{"command":"`+more+`"}}]}
{"expect":{"lastTool":"flag\\.old\\.\\.\\./go\\.me\\.`+home+`"},"text":"done"}
`,
	)
	for _, setting := range []string{"auto", "off"} {
		script, err := os.ReadFile("model.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		own, profile := "scratch", "trust"
		if setting == "auto" {
			profile = "workspace"
			if sandbox.Detect().Kind == sandbox.Own {
				own = home + `\n`
			}
		}
		put(t, "now.jsonl", strings.Replace(string(script), "(HOME)", own, 1))
		env := []string{
			"HOME=" + home,
			"PATH=" + os.Getenv("PATH"),
			"XDG_STATE_HOME=" + home + "/state",
			"AGENT_LSP_SCRIPT=now.jsonl",
			"AGENT_LSP_CONFIG=" + home + "/config.json",
			"AGENT_LSP_SANDBOX=" + setting,
			"MY_FLAG=flag",
			"OLD_TOKEN=old",
			"OTHER=other",
			"A_TOKEN=a",
			"GOPATH=/go",
			"USER=me",
		}
		out, errs, code := play(t, env, "run", "--permissions", profile, "hello")
		if code != exitOK || !strings.Contains(out, "done") {
			t.Errorf("sandbox %s: exit code %d\n%s%s", setting, code, out, errs)
		}
	}
}

// TestSandboxPaths checks that a command can write to a folder listed in the setting sandboxPaths,
// but not to the folder next to it.
func TestSandboxPaths(t *testing.T) {
	if box := sandbox.Detect(); box.Kind != sandbox.Own {
		t.Skip("this machine uses another sandbox: " + box.Why)
	}
	home, out := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	for _, d := range []string{"named", "other"} {
		if err := os.Mkdir(filepath.Join(out, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, home+"/config.json", `{"sandboxPaths":["`+out+`/named"]}`)
	put(t, home+"/model.jsonl", `{"toolCalls":[{"name":"bash","arguments":{"command":"touch `+out+
		`/named/a; touch `+out+`/other/a"}}]}`+"\n"+done)
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + home + "/state",
		"AGENT_LSP_CONFIG=" + home + "/config.json", "AGENT_LSP_SCRIPT=" + home + "/model.jsonl",
	}
	if _, errs, code := play(t, env, "run", "--permissions", "workspace", "go"); code != exitOK {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if _, err := os.Stat(out + "/named/a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(out + "/other/a"); err == nil {
		t.Error("the command wrote to a folder that sandboxPaths does not contain")
	}
}

// TestStateIsPrivate checks that other users cannot read the data that a session with an edit and a
// command stores, and that none of that data is in the workspace.
func TestStateIsPrivate(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(work)
	umask := syscall.Umask(0)
	defer syscall.Umask(umask)
	put(t, home+"/model.jsonl", `{"toolCalls":[{"name":"write","arguments":{"path":"a","content":"a"}},`+
		`{"name":"bash","arguments":{"command":"seq 100000; touch b"}}]}`+"\n"+done)
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + home + "/state",
		"AGENT_LSP_SCRIPT=" + home + "/model.jsonl",
	}
	out, errs, code := play(t, env, "run", "--permissions", "trust", "go")
	if code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if _, _, code := play(t, env, "trust", "no"); code != exitOK {
		t.Errorf("trust: exit code %d", code)
	}
	files := 0
	err := filepath.WalkDir(home+"/state", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == home+"/state" {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if got := info.Mode().Perm(); got&^want != 0 {
			t.Errorf("%s has the mode %v", path, got)
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
	if names, _ := filepath.Glob(work + "/*"); len(names) != 2 {
		t.Errorf("the workspace contains %q", names)
	}
	if hidden, _ := filepath.Glob(work + "/.*"); len(hidden) > 0 {
		t.Errorf("the workspace contains %q", hidden)
	}
}

// TestLinksToSecretFilesAsk checks that reading a secret file through a link is refused if no user
// can allow it.
func TestLinksToSecretFilesAsk(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	put(t, ".env", "CANARY")
	if err := os.Symlink(".env", "symbolic"); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(".env", "hard"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".env", "symbolic", "hard"} {
		put(t, home+"/model.jsonl", `{"toolCalls":[{"name":"read","arguments":{"path":"`+name+`"}}]}
{"expect":{"lastTool":"no user was available to ask"},"text":"denied"}
`)
		env := []string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + home + "/state",
			"AGENT_LSP_SCRIPT=" + home + "/model.jsonl",
		}
		out, errs, code := play(t, env, "run", "--permissions", "trust", "go")
		if code != exitOK || !strings.Contains(out, "denied") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errs)
		}
	}
}

// TestRunWithoutATerminalTrustsNothing checks that a run without a terminal does not run the
// workspace's hook, and that the trust question remains open.
func TestRunWithoutATerminalTrustsNothing(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	put(t, ".agent-lsp.json", `{"hooks":{"sessionStart":[{"command":"touch","args":["ran"]}]}}`)
	put(t, home+"/model.jsonl", done)
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + home + "/state",
		"AGENT_LSP_SCRIPT=" + home + "/model.jsonl",
	}
	if _, errs, code := play(t, env, "run", "go"); code != exitOK ||
		!strings.Contains(errs, "hooks") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if _, err := os.Stat("ran"); err == nil {
		t.Error("the hook ran")
	}
	if out, _, _ := play(t, env, "trust"); !strings.Contains(out, "not decided") {
		t.Errorf("trust: %s", out)
	}
}
