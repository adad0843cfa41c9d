package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// `agent-lsp sessions` lists, shows and exports the sessions that are stored for a workspace, but
// not those for other workspaces. It reports an error for a session that does not exist.
func TestSessionsCommand(t *testing.T) {
	home, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	model := filepath.Join(home, "model.jsonl")
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + home,
		"XDG_CONFIG_HOME=" + home, "AGENT_LSP_SCRIPT=" + model}
	program := func(dir string, want int, args ...string) string {
		t.Helper()
		t.Chdir(dir)
		mustStore(t, model, []byte(`{"text":"The **answer** to it."}`))
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, env, strings.NewReader(""), &out, &errs); code != want {
			t.Errorf("agent-lsp %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code,
				want, &out, &errs)
		}
		return out.String() + errs.String()
	}
	has(t, "no sessions", program(one, exitOK, "sessions"),
		"no sessions are stored for this workspace")
	gone := filepath.Join(one, "gone")
	has(t, "no folder", program(one, exitOK, "sessions", "list", "--workspace", gone), gone+
		" is not a folder")
	program(one, exitOK, "run", "the first question")
	program(one, exitOK, "run", "about apples")
	program(two, exitOK, "run", "elsewhere")

	list := program(one, exitOK, "sessions", "list")
	if lines := strings.Split(strings.TrimSpace(list), "\n"); len(lines) != 2 ||
		!strings.HasSuffix(lines[0], "2 messages  about apples") ||
		!strings.HasSuffix(lines[1], "the first question") {
		t.Errorf("list:\n%s", list)
	}
	if found := program(one, exitOK, "sessions", "list", "--query", "FIRST"); strings.Count(found,
		"\n") != 1 {
		t.Errorf("found:\n%s", found)
	}
	if other := program(one, exitOK, "sessions", "list", "--workspace",
		two); !strings.Contains(other, "elsewhere") || strings.Contains(other, "apples") {
		t.Errorf("of the other workspace:\n%s", other)
	}
	has(t, "archived", program(one, exitOK, "sessions", "list", "--archived"), "no sessions")

	id := strings.Fields(list)[0]
	has(t, "shown", program(one, exitOK, "sessions", "show", id), "# about apples", "## User",
		"The **answer** to it.")
	has(t, "exported", program(one, exitOK, "sessions", "export", id), "# about apples")
	var doc struct {
		Format   string
		Messages []any
	}
	if err := json.Unmarshal([]byte(program(one, exitOK, "sessions", "export", id, "--format",
		"json")), &doc); err != nil || doc.Format != "agent-lsp-session" || len(doc.Messages) != 2 {
		t.Errorf("as JSON: %+v, %v", doc, err)
	}
	has(t, "an unknown one", program(one, exitFailed, "sessions", "show", "nope"),
		"is not stored for this workspace")
	has(t, "of another workspace", program(two, exitFailed, "sessions", "show", id),
		"is not stored for this workspace")
	has(t, "an unknown format", program(one, exitUsage, "sessions", "export", id, "--format",
		"pdf"), `"pdf" is not one of markdown, json`)
	has(t, "no session", program(one, exitUsage, "sessions", "show"), "name one session")
	has(t, "an unknown verb", program(one, exitUsage, "sessions", "burn", id),
		"not one of list, show, export")
	has(t, "an unknown verb alone", program(one, exitUsage, "sessions", "burn"),
		"not one of list, show, export")
}
