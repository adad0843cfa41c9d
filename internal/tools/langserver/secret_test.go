package langserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// A server's answer can name any file. The lines of a secret file are shown only if the call itself
// names the file, because the user was then asked about it.
func TestAnswersDoNotShowSecretFiles(t *testing.T) {
	t.Parallel()
	o := fake(t, "normal")
	o.Secret = func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".env") }
	h := newHarness(t, o, "fake.mod: ", ".env.fk: func key\n", "b.fk: call key\n")
	check(t, h.lsp("documentSymbol", object{"path": ".env.fk"}), "func key")
	check(t, h.lsp("definition", object{"path": "b.fk", "line": 1, "column": 6}),
		".env.fk:1:6", "!func key")
	check(t, h.lsp("workspaceSymbol", object{"query": "key"}), ".env.fk:1:1", "!func key")
	check(t, h.lsp("hover", object{"symbol": "key"}), "ERROR: ", "!func key")
}

// The user is asked about the file that a query names when the query starts. A link that appears
// later does not lead the query to another file.
func TestQueryReadsTheFileOfItsQuestion(t *testing.T) {
	h := newHarness(t, fake(t, "normal"), "fake.mod: ", "a.fk: func one\n", "key.fk: func key\n")
	for _, spec := range h.hub.Tools(nil) {
		call := &tool.Call{Cwd: h.root,
			Args: []byte(`{"operation": "hover", "path": "a.fk", "line": 1, "column": 99}`)}
		p, err := spec.Prepare(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if s := p.Subject; s == nil || s.Kind != tool.SubjectRead ||
			len(s.Paths) != 1 || s.Paths[0] != filepath.Join(h.root, "a.fk") {
			t.Errorf("the question is about %+v", s)
		}
		if err := os.Remove(filepath.Join(h.root, "a.fk")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("key.fk", filepath.Join(h.root, "a.fk")); err != nil {
			t.Skip("no symbolic links:", err)
		}
		if _, err := p.Run(t.Context(), call); err == nil || strings.Contains(err.Error(), "key") {
			t.Errorf("after the file became a link: %v", err)
		}
	}
}
