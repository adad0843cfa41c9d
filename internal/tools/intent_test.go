package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/edittest"
)

// buffers is an editor whose documents are plain strings.
type buffers struct {
	t  testing.TB
	ws *workspace.Workspace

	mu   sync.Mutex
	docs map[string]string
}

func (b *buffers) Features() workspace.ClientFeatures {
	return workspace.ClientFeatures{DocumentChanges: true}
}

func (b *buffers) ApplyEdit(
	_ context.Context,
	_ string,
	e workspace.WorkspaceEdit,
) (workspace.ApplyReply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range e.Documents {
		text := b.docs[d.URI]
		for i := len(d.Edits) - 1; i >= 0; i-- {
			r := d.Edits[i].Range
			start, end := offsetOf(text, r.Start), offsetOf(text, r.End)
			text = text[:start] + d.Edits[i].NewText + text[end:]
		}
		b.docs[d.URI] = text
		change := []workspace.ContentChange{{Text: []byte(text)}}
		if err := b.ws.DidChange(d.URI, *d.Version+1, change); err != nil {
			b.t.Error(err)
		}
	}
	return workspace.ApplyReply{Applied: true}, nil
}

func (b *buffers) text(uri string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.docs[uri]
}

// offsetOf returns the byte offset of a position that is given in UTF-16 units.
func offsetOf(text string, p workspace.Position) int {
	at := 0
	for range p.Line {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	units := 0
	for i, r := range text[at:] {
		if units >= int(p.Character) {
			return at + i
		}
		units += len(utf16.Encode([]rune{r}))
	}
	return len(text)
}

// callOf returns the tool and the arguments of a call in the given format.
func callOf(c edittest.Call) (tool string, a args) {
	switch c.Format {
	case edittest.Single:
		return "str_replace_editor", args{
			"path":    c.Path,
			"old_str": c.Pairs[0].Old,
			"new_str": c.Pairs[0].New,
		}
	case edittest.Multi:
		var edits []args
		for _, p := range c.Pairs {
			edits = append(edits, args{"old_string": p.Old, "new_string": p.New})
		}
		return "multi_edit", args{"file_path": c.Path, "edits": edits}
	case edittest.Cline:
		return "replace_in_file", args{"path": c.Path, "diff": c.Patch}
	case edittest.Roo:
		return "apply_diff", args{"path": c.Path, "diff": c.Patch}
	case edittest.Whole:
		return "write", args{"path": c.Path, "content": *c.Content}
	}
	return "apply_patch", args{"patch": c.Patch}
}

// TestEditTable runs the table of edits through the tools, for a closed file and for an open
// unsaved one, with both kinds of line ending. Each call must either change the text as intended or
// change nothing.
func TestEditTable(t *testing.T) {
	client := &buffers{t: t, docs: map[string]string{}}
	client.ws = workspace.New(workspace.Options{Client: client})
	t.Cleanup(client.ws.Close)
	h := newHarness(t, func(d *Deps) { d.Workspace = client.ws })
	h.ws = client.ws
	h.ws.SetRoots([]string{string(uri.File(h.root))})
	for _, eol := range []string{"\n", "\r\n"} {
		for i, c := range edittest.Table(eol) {
			for _, open := range []bool{false, true} {
				h.runIntent(client, fmt.Sprintf("%d%d%v", len(eol), i, open), c, open)
			}
		}
	}
}

func (h *harness) runIntent(client *buffers, dir string, c edittest.Case, open bool) {
	h.t.Helper()
	file := filepath.Join(dir, c.Intent.Path)
	before, want := string(c.Intent.Base()), string(c.Intent.Want())
	h.cwd = filepath.Join(h.root, dir)
	text := func() string { return h.disk(file) }
	if open {
		h.files(file + ": not saved\n")
		doc := string(uri.File(filepath.Join(h.root, file)))
		client.docs[doc] = before
		h.open(file, before)
		text = func() string { return client.text(doc) }
	} else {
		h.files(file + ": " + before)
	}
	h.run("read", args{"path": c.Intent.Path})
	said := h.run(callOf(c.Call))
	switch got := text(); {
	case c.Noise.Doomed() && (got != before || !strings.Contains(said, "othing was changed")):
		h.t.Errorf(
			"%s, open %v: it should have been refused. The text is\n%s\nThe answer is\n%s",
			c.Name,
			open,
			got,
			said,
		)
	case !c.Noise.Doomed() && got != want:
		h.t.Errorf(
			"%s, open %v: the text is\n%s\nnot\n%s\nThe answer is\n%s",
			c.Name,
			open,
			got,
			want,
			said,
		)
	}
	if open && h.disk(file) != "not saved\n" {
		h.t.Errorf("%s: the file of an open document was written", c.Name)
	}
	if err := os.RemoveAll(h.cwd); err != nil {
		h.t.Error(err)
	}
}
