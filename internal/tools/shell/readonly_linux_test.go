package shell

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// TestReadOnlyCommandsWriteNowhereElse runs a script in the sandbox for read-only commands. The
// script writes files, as if a command had been misclassified. It must be able to change only its
// temporary folder.
func TestReadOnlyCommandsWriteNowhereElse(t *testing.T) {
	for _, s := range boxes(t) {
		b := newBox(t, s)
		home := b.out + "/home"
		caches := []string{home + "/.npm/_cacache", home + "/go/pkg/mod", home + "/.cargo/registry",
			home + "/.cache/go-build"}
		for _, dir := range append(caches, b.work+"/extra") {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("HOME", home)
		t.Setenv("XDG_CACHE_HOME", "")
		t.Setenv("GOCACHE", "")
		t.Setenv("GOMODCACHE", "")
		e, err := policy.NewEngine(policy.Options{Sandbox: func() sandbox.Support { return s }})
		if err != nil {
			t.Fatal(err)
		}
		e.Configure("s", policy.Settings{Roots: []string{b.work},
			Writable: []string{b.work + "/extra"}})
		script := "echo x > \"$TMPDIR/canary\"; echo x > WORK/canary; echo x > WORK/extra/canary"
		for _, dir := range caches {
			script += "; echo x > " + dir + "/canary"
		}
		for command, reads := range map[string]bool{"ls": true, "make": false} {
			plan, err := e.SandboxPlan("s", command,
				policy.Folders{Tmp: b.tmp, Layer: b.tmp + "-layer"}, policy.Granted{})
			if err != nil {
				t.Fatal(err)
			}
			b.runWith(plan, script)
			for _, dir := range append(caches, b.work, b.work+"/extra") {
				_, err := os.Stat(filepath.Join(dir, "canary"))
				// In the daemon's own sandbox, a write to a cache goes to a separate layer.
				private := s.Kind == sandbox.Own && slices.Contains(caches, dir)
				if wrote := err == nil; wrote == (reads || private) {
					t.Errorf("%s: in the sandbox of %s a write to %s succeeded: %v", s.Kind,
						command, dir, wrote)
				}
				_ = os.Remove(filepath.Join(dir, "canary"))
			}
			if _, err := os.Stat(b.tmp + "/canary"); err != nil {
				t.Errorf("%s: %s cannot write to its temporary folder: %v", s.Kind, command, err)
			}
		}
	}
}
