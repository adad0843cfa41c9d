//go:build linux && (amd64 || arm64)

package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Commands cannot read agent-lsp's own data, wherever it is, and cannot change the user's settings
// of agent-lsp, even if a link leads to them.
func TestOwnFiles(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	outside, err := os.MkdirTemp("/var/tmp", "agent-lsp-") // commands see this folder
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(outside)
	inside := filepath.Join(b.work, "state")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{outside, inside} {
		err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte("CANARY"), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	b.write("dotfiles/agent-lsp/config.json", "old")
	link := filepath.Join(b.home, "config.json")
	err = os.Symlink(filepath.Join(b.work, "dotfiles/agent-lsp/config.json"), link)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp("/var/tmp", "agent-lsp-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file.Name())
	err = errors.Join(os.WriteFile(file.Name(), []byte("CANARY"), 0o644), file.Close())
	if err != nil {
		t.Fatal(err)
	}
	b.spec.Hidden = []string{outside, inside, file.Name()}
	b.spec.Settings = Steps(link)
	before := b.tree()
	_, out := b.run(`cat ` + outside + `/* ` + file.Name() + ` state/*; echo x > state/grants.json; rm -rf state
mv state s; mkdir n; mv n state; cp -r state /tmp/; grep -r CANARY . /tmp; rmdir n
echo x > dotfiles/agent-lsp/config.json; rm -f dotfiles/agent-lsp/config.json; mv dotfiles d`)
	if strings.Contains(out, "CANARY") {
		t.Errorf("a command read agent-lsp's data: %s", out)
	}
	if after := b.tree(); after != before {
		t.Errorf("the workspace is\n%s, before\n%s%s", after, before, out)
	}
}
