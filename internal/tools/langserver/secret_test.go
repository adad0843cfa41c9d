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

// A server's messages and the names of symbols often quote the file. They are not shown for a
// secret file that the call does not name.
func TestMessagesAboutSecretFilesAreNotShown(t *testing.T) {
	t.Parallel()
	o := fake(t, "normal")
	o.Secret = func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".env") }
	h := newHarness(t, o, "fake.mod: ", ".env.fk: call hunter2\nfunc hunter3\n",
		"b.fk: call none\n")
	check(t, h.lsp("diagnostics", object{"path": ".env.fk"}), "undefined: hunter2")
	check(t, h.lsp("diagnostics", object{"path": "b.fk"}), "undefined: none")
	check(t, h.lsp("workspaceDiagnostics", nil), "undefined: none",
		".env.fk:1:6: error: (not shown", "!hunter2")
	check(t, h.lsp("workspaceSymbol", object{"query": "hunt"}), ".env.fk:2:1", "!hunter3")
	h.write(".env.fk: call hunter4\n")
	check(t, h.edit("b.fk", "call other\n"), "undefined: other", "!hunter")
}

// Answers do not show files to which a rule about reading applies.
func TestAnswersFollowRulesAboutReading(t *testing.T) {
	t.Parallel()
	o := fake(t, "normal")
	o.Withheld = func(session, tool, _, path string) bool {
		return session == "s" && tool == "lsp" && filepath.Base(path) == "private.fk"
	}
	h := newHarness(t, o, "fake.mod: ", "private.fk: func key\n", "b.fk: call key\n")
	check(t, h.lsp("documentSymbol", object{"path": "private.fk"}), "func key")
	check(t, h.lsp("definition", object{"path": "b.fk", "line": 1, "column": 6}),
		"private.fk:1:6", "!func key")
	h.write("private.fk: call hunter2\n")
	check(t, h.edit("b.fk", "call other\n"), "undefined: other", "private.fk", "!hunter2")
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
