package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/policy"
)

// play runs the program in-process and returns what it printed.
func play(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, env, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

const secret = "sk-proj-0123456789abcdefghijklmnopqrstuvwx"

// homeWithSecrets creates a home folder, and returns it with the environment of a program. The
// settings, the log and the environment contain a key.
func homeWithSecrets(t *testing.T) (home string, env []string) {
	home = t.TempDir()
	put(t, filepath.Join(home, "config.json"), `{"model": "m", "provider": {"headers": {"X-Key": "`+
		secret+`"}}}`)
	put(t, filepath.Join(home, "model.jsonl"), `{"text":"hello"}`+"\n")
	put(t, filepath.Join(home, "log"), strings.Repeat("a line of the log\n", 1<<15)+"key "+secret+
		" in "+home+"\n")
	return home, []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "OPENAI_API_KEY=" + secret,
		"PATH=" + os.Getenv("PATH"),
		"AGENT_LSP_CONFIG=" + filepath.Join(home, "config.json"), "AGENT_LSP_SCRIPT=" +
			filepath.Join(home, "model.jsonl")}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A bundle contains the data that a bug report needs, but neither a key nor the name of the home
// folder.
func TestBundleHoldsNoSecret(t *testing.T) {
	home, env := homeWithSecrets(t)
	for _, root := range []string{"/w/secret-plans", home} {
		storeSession(t, session.Dir(app.StateDir(env), root), "sell the company")
	}
	file := filepath.Join(t.TempDir(), "bug.tar.gz")
	out, errs, code := play(t, env, "bundle", "--log", filepath.Join(home, "log"), file)
	if code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	parts := unpack(t, file)
	for name, wants := range map[string]string{
		"version.txt": version, "doctor.txt": "sandbox: ", "settings.txt": "provider.headers",
		"environment.txt": "OPENAI_API_KEY\n", "log.txt": "a line of the log",
		"sessions.txt": " 1 message, ",
	} {
		text, there := parts["agent-lsp-bundle/"+name]
		if !there || !strings.Contains(text, wants) {
			t.Errorf("%s lacks %q:\n%.400s", name, wants, text)
		}
	}
	if list := parts["agent-lsp-bundle/sessions.txt"]; strings.Count(list, "1 message,") != 2 ||
		strings.Contains(list, "sell") || strings.Contains(list, "secret-plans") {
		t.Errorf("a session is missing in the list, or the list contains titles or names:\n%s",
			list)
	}
	for name, text := range parts {
		if strings.Contains(text, secret) || strings.Contains(text, home) {
			t.Errorf("%s contains the key or the name of the home folder", name)
		}
	}
	if st, err := os.Stat(file); err != nil || len(parts["agent-lsp-bundle/log.txt"]) > bundleLog ||
		st.Size() > 1<<20 {
		t.Errorf("the log is not bounded: %v", err)
	}
}

// With --session, a bundle also contains the messages of that session, without keys.
func TestBundleOfASession(t *testing.T) {
	home, env := homeWithSecrets(t)
	t.Chdir(home)
	storeSession(t, session.Dir(app.StateDir(env), home), "sell the company, key "+secret)
	id, _, _ := play(t, env, "sessions", "list")
	file := filepath.Join(t.TempDir(), "bug.tar.gz")
	out, errs, code := play(t, env, "bundle", "--session", strings.Fields(id)[0], file)
	if code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	all := ""
	for _, text := range unpack(t, file) {
		all += text
	}
	if !strings.Contains(all, "sell the company") || strings.Contains(all, secret) {
		t.Errorf("the bundle does not contain the message, or contains the key:\n%s", all)
	}
}

// If a secret crosses the position where the log is truncated, the bundle contains no part of it. A
// partial secret would not be recognized and redacted.
func TestBundleCutsNoSecret(t *testing.T) {
	home, env := homeWithSecrets(t)
	log := filepath.Join(home, "log")
	for name, held := range map[string]string{"key": "key " + secret,
		"lines": "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQ\n", 20) +
			"-----END PRIVATE KEY-----"} {
		for _, kept := range []int{1, 20, len(held) - 1} {
			rest := "\n" + strings.Repeat("a", bundleLog-kept-len("\n\n")) + "\n"
			put(t, log, strings.Repeat("b\n", bundleLog)+held+rest)
			file := filepath.Join(t.TempDir(), "bug.tar.gz")
			if _, errs, code := play(t, env, "bundle", "--log", log, file); code != exitOK {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			text := unpack(t, file)["agent-lsp-bundle/log.txt"]
			if left := strings.Trim(strings.ReplaceAll(text, policy.Redacted, ""),
				"abkey \n]"); left != "" || len(text) > bundleLog {
				t.Errorf("%s of which %d bytes are kept: %d bytes, with %q", name, kept, len(text),
					left)
			}
		}
	}
}

// storeSession stores a session with one prompt.
func storeSession(t *testing.T, dir, prompt string) {
	t.Helper()
	library := session.Open(dir)
	defer library.Close()
	s, err := library.Create(session.Meta{Cwd: "/w"})
	if err == nil {
		m := message.NewText(message.RoleUser, prompt)
		m.ID = "msg_1"
		err = s.Append(agent.Record{Type: agent.RecordMessage, Message: m})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		parts[h.Name] = string(data)
	}
}

func TestBundleRefuses(t *testing.T) {
	home, env := homeWithSecrets(t)
	there := filepath.Join(home, "there.tar.gz")
	put(t, there, "mine")
	for _, tc := range []struct {
		args []string
		code int
	}{
		{[]string{"bundle"}, exitUsage},
		{[]string{"bundle", "x.zip"}, exitUsage},
		{[]string{"bundle", there}, exitFailed},
		{[]string{"bundle", "--log", filepath.Join(home, "none"), filepath.Join(home, "a.tar.gz")},
			exitFailed},
		{[]string{"bundle", "--session", "none", filepath.Join(home, "b.tar.gz")}, exitFailed},
	} {
		if _, errs, code := play(t, env, tc.args...); code != tc.code || errs == "" {
			t.Errorf("%q: exit code %d, stderr %q; want %d and a word", tc.args, code, errs,
				tc.code)
		}
	}
	if b, _ := os.ReadFile(there); string(b) != "mine" {
		t.Error("an existing file was overwritten")
	}
}

// Every top-level command has help, and each of its flags is listed there and offered as a
// completion. Each installed shell accepts its completion script.
func TestCompletion(t *testing.T) {
	for _, c := range (&program{}).commands().Commands() {
		help, _, code := play(t, nil, "help", c.Name())
		if code != exitOK || !strings.Contains(help, c.Short) {
			t.Errorf("help %s: exit code %d\n%s", c.Name(), code, help)
		}
		offers, _, _ := play(t, nil, "__complete", c.Name(), "--")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(help, "--"+f.Name) {
				t.Errorf("the help for %s does not list --%s", c.Name(), f.Name)
			}
			if !strings.Contains(offers, "--"+f.Name+"\t") {
				t.Errorf("the completion for %s does not offer --%s: %s", c.Name(), f.Name, offers)
			}
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, errs, code := play(t, nil, "completion", shell)
		if code != exitOK || !strings.Contains(out, "__complete") {
			t.Fatalf("%s: exit code %d: %s", shell, code, errs)
		}
		checkSyntax(t, shell, out)
	}
	if _, _, code := play(t, nil, "completion", "tcsh"); code != exitUsage {
		t.Errorf("an unknown shell: exit code %d", code)
	}
}

// checkSyntax has the shell itself parse the script, if the shell is installed.
func checkSyntax(t *testing.T, shell, script string) {
	path, err := exec.LookPath(shell)
	if err != nil {
		return // the words were checked, but the shell is not installed on this machine
	}
	cmd := exec.Command(path, "-n")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s -n: %v\n%s", shell, err, out)
	}
}

// Completions match the text that the user has typed.
func TestCompletes(t *testing.T) {
	env := []string{"HOME=" + t.TempDir()}
	for typed, want := range map[string]string{
		"do":                             "doctor",
		"doctor --c":                     "--config",
		"sessions ex":                    "export",
		"sessions export --format j":     "json",
		"run --permissions tr":           "trust",
		"demo --edit-policy rev":         "review",
		"help ser":                       "serve",
		"help sessions sh":               "show",
		"trust y":                        "yes",
		"login openr":                    "openrouter",
		"models --provider open":         "openai",
		"completion power":               "powershell",
		"sessions list --workspace here": "",
	} {
		words := strings.Fields(typed)
		out, errs, code := play(t, env, append([]string{"__complete"}, words...)...)
		got := ""
		for line := range strings.Lines(out) { // the shell filters by the typed text
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if got == "" && strings.HasPrefix(word, words[len(words)-1]) {
				got = word
			}
		}
		if got != want || code != exitOK {
			t.Errorf("%q completes to %q (exit code %d, %s), want %q", typed, out, code, errs, want)
		}
	}
}

// The completion script works in a real bash.
func TestBashCompletes(t *testing.T) {
	const library = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(library); err != nil {
		return // the words are tested above, but bash on this machine does not support completion
	}
	script, _, _ := play(t, nil, "completion", "bash")
	dir := t.TempDir()
	run := "#!/bin/sh\n" + envRunMain + "=1 exec " + os.Args[0] + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "agent-lsp"), []byte(run), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", ". "+library+"\n"+script+`
COMP_WORDS=(agent-lsp sessions export --format j); COMP_CWORD=4
COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
__start_agent-lsp agent-lsp j --format; printf '%s\n' "${COMPREPLY[@]}"`)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.Output(); err != nil || string(out) != "json\n" {
		t.Errorf("bash completes to %q (%v)", out, err)
	}
}
