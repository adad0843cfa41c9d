package app

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/project"
)

// TestInstructionsAreNoHardLinksToSecrets checks that an instruction file is not sent if it is a
// hard link to a secret file.
func TestInstructionsAreNoHardLinksToSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not report hard links with the other data of a file")
	}
	root := t.TempDir()
	for name, text := range map[string]string{".env": "KEY=1", "fine.md": "fine"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for to, from := range map[string]string{"AGENTS.md": ".env", "other.md": "fine.md"} {
		if err := os.Link(filepath.Join(root, from), filepath.Join(root, to)); err != nil {
			t.Skip("this file system has no hard links: ", err)
		}
	}
	d := &daemon{folders: &folders{root: root}, processes: &processRunner{}}
	for name, want := range map[string]int{"AGENTS.md": 0, "other.md": 1} {
		rules := project.Rules{Names: []string{name}}
		files, notices := d.openProject(nil).Instructions(root, rules)
		if len(files) != want || len(files)+len(notices) != 1 {
			t.Errorf("%s: files %v, notices %q", name, files, notices)
		}
	}
}
