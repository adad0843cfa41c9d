package cli

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// For a wrong word, the program reports it, suggests a similar word if there is one, and exits with
// code 2.
func TestMistyped(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"doctr", "unknown command \"doctr\", did you mean doctor?; `agent-lsp help` lists the commands"},
		{"frobnicate", "unknown command \"frobnicate\"; `agent-lsp help` lists the commands"},
		{"frobnicate --help", `unknown command "frobnicate"`},
		{"help sesions", "did you mean sessions?"},
		{"run --modl x hello", "agent-lsp run: unknown flag --modl, did you mean --model?; `agent-lsp run --help` lists the flags"},
		{"-frob", "agent-lsp serve: unknown flag -frob; "},
		{"run -json hello", "unknown flag -json, did you mean --json?"},
		{"run --model", "--model needs a value"},
		{"run --permissions trsut hello",
			`"trsut" is not one of readOnly, ask, workspace, trust, did you mean trust?`},
		{"sessions lst", `"lst" is not one of list, show, export, did you mean list?`},
		{"completion", "name one of bash, zsh, fish"},
		{"schema typescrpt", "did you mean typescript?"},
		{"doctor --confg", "did you mean --config?"},
		{"doctor extra", `unexpected argument "extra"`},
		{"version extra", `agent-lsp version: unexpected argument "extra"`},
		{"--version extra", `agent-lsp version: unexpected argument "extra"`},
		{"version --extra", "agent-lsp version: unknown flag --extra"},
		{"help run extra", `agent-lsp help: unexpected argument "extra"`},
		{"schema json extra", `agent-lsp schema: unexpected argument "extra"`},
		{"sessions list extra", `agent-lsp sessions list: unexpected argument "extra"`},
		{"demo extra", `agent-lsp demo: unexpected argument "extra": the sample has its own prompt; to send yours, add --workspace DIR`},
	} {
		out, errs, code := play(t, []string{"HOME=" + t.TempDir()}, strings.Fields(c.args)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) ||
			strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %q", c.args, code, out, errs,
				c.want)
		}
	}
}

// All forms of requesting help work. The general help differs from the help for serve.
func TestHelp(t *testing.T) {
	for _, args := range []string{"help", "--help", "-h"} {
		out, errs, code := play(t, nil, args)
		if code != exitOK || errs != "" || !strings.HasPrefix(out, "agent-lsp is a coding agent") {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	for _, args := range [][]string{{"run", "--help"}, {"help", "run"}} {
		if out, _, code := play(t, nil, args...); code != exitOK ||
			!strings.HasPrefix(out, "agent-lsp run \"prompt\"\n") ||
			!strings.Contains(out, "--permissions string") {
			t.Errorf("%s: exit code %d\n%s", args, code, out)
		}
	}
}

// If the shell's working folder no longer exists, a command that needs it reports this and says
// what to do.
func TestWorkingFolderGone(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Skip("this system cannot remove a folder that is in use:", err)
	}
	for _, args := range []string{"run hello", "sessions list", "trust", "doctor"} {
		_, errs, code := play(t, []string{"HOME=" + t.TempDir()}, strings.Fields(args)...)
		if code != exitFailed || !strings.Contains(errs, "change to another one") ||
			strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stderr %q", args, code, errs)
		}
	}
}

// oneModel starts a server that has one model and accepts one key.
func oneModel(t *testing.T) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, "/v1/"):
			http.Error(w, "<html><h1>404 Not Found</h1></html>", http.StatusNotFound)
		case r.Header.Get("Authorization") != "Bearer right":
			http.Error(w, `{"error":{"message":"Incorrect API key provided."}}`,
				http.StatusUnauthorized)
		case r.URL.Path == "/v1/models":
			w.Write([]byte(`{"data":[{"id":"nomic-embed-text"},{"id":"tiny-1"}]}`))
		default:
			http.Error(w, `{"error":{"message":"There is no such model."}}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestFirstMistakes checks that doctor and a prompt both report the cause and the remedy for
// typical mistakes of new users.
func TestFirstMistakes(t *testing.T) {
	base := oneModel(t)
	for _, c := range []struct {
		name, url, key, model, file string
		code                        int
		doctor, run                 string
	}{
		{"all is well", base + "/v1", "right", "", "", exitOK,
			"models: 1, using tiny-1\nnext: start an editor", ""},
		{"no provider", "", "", "", `{"provider":{"probe":false}}`, exitNoProvider,
			"next: set OPENAI_API_KEY", "set OPENAI_API_KEY"},
		{"wrong key", base + "/v1", "wrong", "", "", exitFailed,
			"Incorrect API key provided.\nnext: check the API key", ""},
		{"unknown model", base + "/v1", "right", "tiny-2", "", exitOK,
			"using tiny-2, which is not one of them; tiny-1 is\nnext:",
			`There is no such model. (check the model "tiny-2"`},
		{"no /v1", base, "right", "tiny-1", "", exitFailed,
			"next: check provider.baseUrl, which is " + base + "; most providers' ends in /v1",
			"most providers' ends in /v1"},
		{"nothing listens", "http://127.0.0.1:1/v1", "right", "", "", exitFailed,
			"next: nothing is listening at http://127.0.0.1:1/v1",
			"connection refused: nothing is listening at http://127.0.0.1:1/v1; start the server or change provider.baseUrl"},
		{"no list, and no model", base, "right", "", "", exitFailed, "next: check provider.baseUrl",
			"most providers' ends in /v1, or set model or OPENAI_MODEL"},
		{"no scheme", "127.0.0.1:9/v1", "right", "tiny-1", "", exitNoProvider,
			`OPENAI_BASE_URL), "127.0.0.1:9/v1", is not an http or https URL`,
			"is not an http or https URL"},
		{"broken settings", "127.0.0.1:9/v1", "right", "tiny-1", `{"model": `, exitNoProvider,
			"next: fix the user file", "cannot be read and is ignored"},
		{"variable not set", base + "/v1", "right", "tiny-1", `{"provider":{"apiKeyEnv":"MY_KEY"}}`,
			exitFailed, "the environment variable MY_KEY that provider.apiKeyEnv names is not set",
			"MY_KEY"},
	} {
		home, dir := t.TempDir(), t.TempDir()
		t.Chdir(dir)
		config := filepath.Join(home, "config.json")
		if err := os.WriteFile(config, []byte(cmp.Or(c.file, "{}")), 0o600); err != nil {
			t.Fatal(err)
		}
		env := []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "AGENT_LSP_CONFIG=" + config,
			"PATH=" + os.Getenv("PATH"),
			"OPENAI_BASE_URL=" + c.url, "OPENAI_API_KEY=" + c.key, "OPENAI_MODEL=" + c.model}
		out, errs, code := play(t, env, "doctor")
		if !strings.Contains(out, c.doctor) || code != c.code {
			t.Errorf("%s: doctor: exit code %d, want %d and %q\n%s%s", c.name, code, c.code,
				c.doctor, out, errs)
		}
		if c.run == "" {
			continue
		}
		out, errs, code = play(t, env, "run", "hello")
		if !strings.Contains(out+errs, c.run) || code == exitOK ||
			strings.Contains(errs, "agent/") {
			t.Errorf("%s: run: exit code %d, want %q\n%s%s", c.name, code, c.run, out, errs)
		}
		if _, errs, code := play(t, append(env, envRunMain+"=1"), "demo", "--workspace", dir,
			"hello"); code == exitOK || !strings.Contains(errs, "agent-lsp demo: ") ||
			strings.Contains(errs, "agent/") {
			t.Errorf("%s: demo: exit code %d and %q", c.name, code, errs)
		}
		if left, _ := filepath.Glob(filepath.Join(home, "agent-lsp", "sessions", "*",
			"*")); c.code == exitNoProvider && len(left) != 0 {
			t.Errorf("%s: left %v", c.name, left)
		}
	}
}

// Doctor and `agent-lsp run` both report invalid names in the settings, such as an unknown mode or
// hook point.
func TestNamesOfNothing(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	config, model := filepath.Join(home, "config.json"), filepath.Join(home, "model.jsonl")
	mustStore(
		t,
		config,
		[]byte(
			`{"mode": "pln", "agents": [{"name": "a", "description": "x"}, {"description": "y"}], "permissions": {"rules": ["dny bash(x)"]},
		"hooks": {"beforeTol": [{"command": "x"}]}, "mcpServers": {"files": {"command": "no-such-program"}, "none": {}, "far": {"url": "http://127.0.0.1:1"}, "off": {"command": "gone", "disabled": true}}}`,
		),
	)
	mustStore(t, model, []byte(`{"text": "Yes."}`))
	env := []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "AGENT_LSP_CONFIG=" + config,
		"PATH=" + os.Getenv("PATH"), "AGENT_LSP_SCRIPT=" + model}
	reported := []string{`mode: "pln" is not one of default, plan, did you mean plan?`,
		"agents[1]: has no name", `permissions.rules[0] ("dny bash(x)")`,
		"hooks: unknown point beforeTol"}
	out, errs, _ := play(t, env, "doctor")
	has(t, "doctor", out+errs, append(reported,
		"MCP server files: there is no command no-such-program\n",
		"MCP server none: its settings have neither")...)
	if strings.Contains(out, "server far") || strings.Contains(out, "server off") {
		t.Errorf("doctor reports problems although there are none:\n%s", out)
	}
	out, errs, _ = play(t, env, "run", "is it?")
	has(t, "run", out+errs, append(reported, "Yes.")...)
}

// If the state directory cannot be created, doctor reports this.
func TestDoctorOfLockedState(t *testing.T) {
	dir := unwritable(t)
	if dir == "" {
		return // every folder on this system is writable
	}
	t.Chdir(t.TempDir())
	out, errs, _ := play(t, []string{"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + dir, "PATH=" +
		os.Getenv("PATH"), "AGENT_LSP_PROVIDER_PROBE=false"}, "doctor")
	has(t, "doctor", out+errs, "notice: "+filepath.Join(dir, "agent-lsp")+" cannot be written",
		"set XDG_STATE_HOME")
}

// Doctor warns if the workspace is the home folder, contains it, or is the root of the file system,
// because that is probably not intended.
func TestDoctorOfAWholeHome(t *testing.T) {
	home := t.TempDir()
	for dir, want := range map[string]string{
		home: "your home folder", "/": "the root of the file system", t.TempDir(): "",
		filepath.Dir(home): "a folder that contains your home folder",
	} {
		t.Chdir(dir)
		env := []string{
			"HOME=" + home, "XDG_STATE_HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"),
			"AGENT_LSP_PROVIDER_PROBE=false",
		}
		out, _, _ := play(t, env, "doctor")
		if want == "" && strings.Contains(out, "the workspace is") || want != "" &&
			!strings.Contains(out, "notice: the workspace is "+want+". agent-lsp asks before") {
			t.Errorf("%s: %s", dir, out)
		}
	}
}

// The error for an unknown session says where to look.
func TestUnknownSession(t *testing.T) {
	t.Chdir(t.TempDir())
	env := []string{"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "PATH=" +
		os.Getenv("PATH")}
	for _, args := range [][]string{{"sessions", "show", "nonesuch"},
		{"run", "--session", "nonesuch", "hello"}} {
		if _, errs, code := play(t, env, args...); code != exitFailed ||
			!strings.Contains(errs, "agent-lsp sessions list") || strings.Contains(errs, "agent/") {
			t.Errorf("%s: exit code %d, stderr %q", args, code, errs)
		}
	}
}
