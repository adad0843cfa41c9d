package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// TestBubblewrapKeepsFilesThatStartPrograms checks that, with the profile workspace, a command
// cannot change existing files that can start programs, because bubblewrap makes them read-only.
func TestBubblewrapKeepsFilesThatStartPrograms(t *testing.T) {
	home, victim := attackHome(t), startVictim(t)
	r := newRunner(t)
	for _, box := range boxes(t) {
		if box.Kind != sandbox.Bubblewrap {
			continue
		}
		s := newScene(t, &attack{}, victim, home)
		defer s.close()
		for _, name := range []string{".git/hooks/pre-commit", ".git/config",
			".vscode/tasks.json", ".agent-lsp.json", "main.go"} {
			s.write(s.work+"/"+name, "before\n")
		}
		plan := planFor(t, box, s, "workspace")
		run(t, r, Command{Sandbox: plan, Dir: s.work, Script: `
			for f in .git/hooks/pre-commit .git/config .vscode/tasks.json .agent-lsp.json main.go; do
				echo after > $f; rm $f; mv $f moved; echo after > new && mv new $f
			done; echo after > .git/hooks/post-commit; mv .vscode other; rm -r .git/hooks; echo x > main.go`})
		for name, want := range map[string]string{
			".git/hooks/pre-commit": "before\n", ".git/config": "before\n",
			".vscode/tasks.json": "before\n", ".agent-lsp.json": "before\n", "main.go": "x\n",
			".git/hooks/post-commit": "", "other/tasks.json": "",
		} {
			if got, _ := os.ReadFile(s.work + "/" + name); string(got) != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// TestSandboxesKeepTheKernelsSettings checks that a command cannot open the kernel's settings for
// writing. Root needs no capability for them, and core_pattern starts programs outside the sandbox.
func TestSandboxesKeepTheKernelsSettings(t *testing.T) {
	home, victim := attackHome(t), startVictim(t)
	r := newRunner(t)
	for _, box := range boxes(t) {
		s := newScene(t, &attack{}, victim, home)
		defer s.close()
		got := run(t, r, Command{Sandbox: planFor(t, box, s, "workspace"), Dir: s.work, Script: `
			for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname \
				/proc/sys/vm/swappiness /proc/sysrq-trigger /proc/mtrr; do
				test -e $f && (: >> $f) 2> /dev/null && echo opened $f
			done; cat /proc/sys/kernel/ostype`})
		text := got.Text()
		if strings.Contains(text, "opened") || !strings.Contains(text, "Linux") {
			t.Errorf("%s: %s", box.Kind, text)
		}
	}
}
