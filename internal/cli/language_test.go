package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLanguageServer runs a session with the gopls that scripts/setup.sh installs.
func TestLanguageServer(t *testing.T) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	bin := filepath.Join(cache, "agent-lsp-test", "bin", "gopls")
	if _, err := os.Stat(bin); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing: run scripts/setup.sh", bin)
		}
		t.Skipf("%s is missing: run scripts/setup.sh", bin)
	}
	raw, err := os.ReadFile(filepath.Join("testdata", "gopls.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "gopls.txtar")
	if err := os.WriteFile(script,
		[]byte(strings.ReplaceAll(string(raw), "@gopls@", filepath.ToSlash(bin))),
		0o600); err != nil {
		t.Fatal(err)
	}
	playSession(t, script, startProcess, false)
}
