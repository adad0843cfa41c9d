package policy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// Without a sandbox, the parts of a command for which no rule exists must be on the short list, and
// the files that are redirected to its programs must be in the workspace.
func TestRulesAddNoFiles(t *testing.T) {
	work, outside := shortWorkspace(t)
	s := Settings{Sandbox: sandbox.Off, Roots: []string{work}}
	rules, errs := ParseRules("rules", []string{"allow bash(go test *)", "allow bash(touch *)"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for script, want := range map[string]Action{
		"touch in/../new.txt":                                Allow,
		"touch src/../new/../x.txt":                          Allow,
		"touch deep/../new.txt":                              Ask,
		"touch missing/../deep/../new.txt":                   Ask,
		"cd deep/.. && touch new.txt":                        Ask,
		"go test . < deep/../a.txt":                          Ask,
		"go test ./...; cat a.txt":                           Allow,
		"go test ./... | grep -c 'x y' && wc -l 'b c.txt'":   Allow,
		"go test ./... < /dev/null":                          Allow,
		"go test ./... < a.txt":                              Allow,
		"cd src && go test . < m.go":                         Allow,
		"go test ./...; cat a.txt '#' " + outside + "/o.txt": Ask,
		"go test ./...; cat a.txt \\# " + outside + "/o.txt": Ask,
		"go test ./...; cat < " + outside + "/o.txt":         Ask,
		"go test ./...; cat <out.txt":                        Ask,
		"go test . < " + outside + "/o.txt":                  Ask,
		"go test . < ../outside/o.txt":                       Ask,
		"go test ./...; cat '~/a.txt'":                       Ask,
		"go test ./...; cat ~/a.txt":                         Ask,
	} {
		got := s.judgeCommand(machine{readable: true}, rules,
			&tool.Subject{Kind: tool.SubjectCommand, Command: script, Cwd: work})
		if got.action != want {
			t.Errorf("%s: %v (%s), want %v", script, got.action, got.reason, want)
		}
	}
}

// The kernel follows a link before a ".." in a path, and the shell's cd does not. A grant for a
// script and a question about a secret file are about the file that the kernel opens.
func TestParentsOfLinkedFolders(t *testing.T) {
	work, outside := shortWorkspace(t)
	for _, name := range []string{work + "/run.sh", work + "/src/run.sh"} {
		if err := os.WriteFile(name, []byte("true\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(work, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(work+"/src/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	link(work+"/src/sub", "sub")
	link(outside+"/missing", "gone")
	link(work+"/.env", "src/a.txt")

	s := Settings{Roots: []string{work}}
	for script, want := range map[string]string{
		"./run.sh": work + "/run.sh", "./src/run.sh": work + "/src/run.sh", "./sub/../run.sh": "",
	} {
		files, _ := s.directFiles(&tool.Subject{Command: script, Cwd: work}, Classify(script), true)
		_, ok := files[want]
		if ok != (want != "") || len(files) > 1 || want == "" && len(files) > 0 {
			t.Errorf("%s runs %v, want %q", script, files, want)
		}
	}
	for path, want := range map[string]string{
		work + "/sub/../x": work + "/src/x", work + "/gone/../x": outside + "/x",
		work + "/a/../x/.": work + "/x", work + "/gone": outside + "/missing", "/": "/",
	} {
		if got := resolved(path); got != want {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
	}
	script := "cat sub/../a.txt"
	named := secretsNamed(&tool.Subject{Command: script, Cwd: work}, Classify(script))
	if len(named) != 1 || named[0].path != work+"/.env" {
		t.Errorf("%s names %v, want the file .env", script, named)
	}
}
