package policy

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// Without a sandbox, the parts of a command for which no rule exists must be on the short list, and
// the files that are redirected to its programs must be in the workspace.
func TestRulesAddNoFiles(t *testing.T) {
	work, outside := shortWorkspace(t)
	s := Settings{Sandbox: sandbox.Off, Roots: []string{work}}
	rules, errs := ParseRules("rules", []string{"allow bash(go test *)"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for script, want := range map[string]Action{
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
