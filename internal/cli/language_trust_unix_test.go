//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is a repository with code that language servers run. That code creates the file pwned.
type hostile struct {
	name     string
	file     string // file that contains the code
	settings string // JSON that is appended to the language server's settings, or ""
	env      []string
}

var hostiles = []hostile{
	{name: "library", file: "node_modules/typescript/lib/tsserver.js"},
	{name: "library of an editor", file: ".vscode/pnpify/typescript/lib/tsserver.js"},
	{
		name: "library above the workspace", file: "../node_modules/typescript/lib/tsserver.js",
		env: []string{"AGENT_LSP_SANDBOX=off"}, // the sandbox hides the folder above
	},
	{name: "build script", file: "build.rs"},
	{
		name: "GOFLAGS", file: "tool", settings: `,"args":["gopls"]`,
		env: []string{"GOFLAGS=-toolexec=./tool"},
	},
}

// TestADiagnosticsQuestionRunsNoCodeOfAnUntrustedWorkspace requests diagnostics from a language
// server for a file in a hostile repository. The repository's code runs only after the user has
// trusted the repository, and no longer runs once the code has changed. The test detects the code
// by the file that it creates.
func TestADiagnosticsQuestionRunsNoCodeOfAnUntrustedWorkspace(t *testing.T) {
	for _, h := range hostiles {
		t.Run(h.name, func(t *testing.T) {
			home, dir := t.TempDir(), filepath.Join(t.TempDir(), "workspace")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("HOME", home)
			t.Chdir(dir)
			if err := os.MkdirAll(filepath.Dir(h.file), 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, h.file, "touch pwned")
			put(t, "a.fk", "call nothing\n")
			env := append(languageHome(t, home, h.settings), h.env...)
			ask := func(when string, runs bool, want string) {
				t.Helper()
				put(t, home+"/model.jsonl", fmt.Sprintf(asksDiagnostics, want))
				out, errs, code := play(t, env, "run", "look")
				if code != exitOK || !strings.Contains(out, "answered") {
					t.Errorf("%s: exit code %d\n%s%s", when, code, out, errs)
				}
				if _, err := os.Stat("pwned"); (err == nil) != runs {
					t.Errorf("%s: the code in the repository created its file: %v",
						when, err == nil)
				}
				_ = os.Remove("pwned")
			}
			ask("untrusted", false, "not trusted")
			if out, errs, code := play(t, env, "trust", "yes"); code != exitOK ||
				!strings.Contains(out, strings.TrimPrefix(h.file, "../")+" (sha256:") {
				t.Errorf("trust: exit code %d\n%s%s", code, out, errs)
			}
			ask("trusted", true, "1 error, by fake")
			put(t, h.file, "touch pwned; touch again")
			ask("changed", false, "not trusted")
			if _, err := os.Stat("again"); err == nil {
				t.Error("the changed code ran")
			}
		})
	}
}

// asksDiagnostics is a model that requests diagnostics and expects a result.
const asksDiagnostics = `{"toolCalls":[{"name":"tool_search","arguments":{"query":"select:lsp"}}]}
{"toolCalls":[{"name":"lsp","arguments":{"operation":"diagnostics","path":"a.fk"}}]}
{"expect":{"lastTool":%q},"text":"answered"}
`

// languageHome writes settings with a language server for *.fk files to a home folder. It returns
// the environment of a program that uses this folder.
func languageHome(t *testing.T, home, settings string) (env []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put(t, home+"/config.json", fmt.Sprintf(`{"environment":{"pass":["GOFLAGS"]},
		"languageServers":{"fake":{"command":%q,"env":{"AGENT_LSP_TEST_LSP":"runs"},
		"extensions":[".fk"]%s}}}`, exe, settings))
	return []string{
		"HOME=" + home, "XDG_STATE_HOME=" + home + "/state", "PATH=" + os.Getenv("PATH"),
		"AGENT_LSP_CONFIG=" + home + "/config.json", "AGENT_LSP_SCRIPT=" + home + "/model.jsonl",
	}
}
