//go:build unix

package tools

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// An editor follows links when it saves. If a command has replaced a file or its folder with a
// link, the tool does not ask the editor to save the document, because the editor would write a
// file outside the workspace.
func TestBashSavesThroughNoNewLink(t *testing.T) {
	var saved []string
	h := newHarness(t, func(d *Deps) {
		d.SaveDirty = func(_ context.Context, _ *tool.Call, uris []string) ([]string, error) {
			saved = append(saved, uris...)
			return nil, nil
		}
	})
	outside := t.TempDir()
	h.files("d/f.txt: old\n", "g.txt: old\n", "l.txt: old\n")
	must(t, os.WriteFile(filepath.Join(outside, "f.txt"), []byte("theirs\n"), 0o644))
	for _, name := range []string{"d/f.txt", "g.txt", "l.txt"} {
		h.open(name, "unsaved\n")
	}
	h.ws.Documents() // resolves the paths of the documents
	must(t, os.Rename(filepath.Join(h.root, "d"), filepath.Join(h.root, "e")))
	must(t, os.Symlink(outside, filepath.Join(h.root, "d")))
	must(t, os.Remove(filepath.Join(h.root, "l.txt")))
	must(t, os.Symlink(filepath.Join(outside, "f.txt"), filepath.Join(h.root, "l.txt")))
	want(t, h.run("bash", args{"command": "true"}), "not saved in the editor", "d/f.txt", "l.txt",
		"!g.txt")
	if len(saved) != 1 || filepath.Base(saved[0]) != "g.txt" {
		t.Errorf("the editor was asked to save %q", slices.Sorted(slices.Values(saved)))
	}
}
