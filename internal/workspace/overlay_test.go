package workspace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// pieces are the parts of random texts: every kind of line ending, and characters of each width in
// both encodings.
var pieces = []string{"a", "b", " ", "\t", "ä", "€", "😀", "\u2028", "e\u0301", "\n", "\n", "\r\n",
	"\r", "line\n", "foo(bar)\r\n", "{\n", "}\n", "\x00", "\ufeff"}

func genText(max int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, max).Draw(t, "pieces"), "")
	})
}

// TestOverlayIsTheBuffer makes random edits in the fake editor, which computes positions
// independently, and compares the overlay with the editor's buffer.
func TestOverlayIsTheBuffer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFake(t, rapid.SampledFrom([]Encoding{UTF8, UTF16}).Draw(rt, "encoding"))
		w := New(Options{})
		defer w.Close()
		f.w = w
		w.SetEncoding(f.enc)
		f.open("untitled:x", genText(40).Draw(rt, "text"))
		var kept [][]byte
		var copies []string
		for range rapid.IntRange(1, 20).Draw(rt, "edits") {
			randomEdit(rt, f, "untitled:x")
			file := w.readBuffer(Ref{Key: "untitled:x"})
			if string(file.Text.Data) != f.text("untitled:x") {
				rt.Fatalf("overlay %q, buffer %q", file.Text.Data, f.text("untitled:x"))
			}
			kept, copies = append(kept, file.Text.Data), append(copies, string(file.Text.Data))
			checkIndex(rt, w.docs["untitled:x"])
		}
		for i := range kept {
			if string(kept[i]) != copies[i] {
				rt.Fatal("a text that was returned earlier has changed")
			}
		}
	})
}

// randomEdit types at character boundaries or replaces the whole text.
func randomEdit(rt *rapid.T, f *fakeEditor, uri string) {
	text := f.text(uri)
	if rapid.IntRange(0, 9).Draw(rt, "whole") == 0 {
		f.setAll(uri, genText(40).Draw(rt, "new text"))
		return
	}
	start := onBorder(text, rapid.IntRange(0, len(text)).Draw(rt, "start"))
	end := onBorder(text, rapid.IntRange(start, len(text)).Draw(rt, "end"))
	f.type_(uri, start, max(start, end), genText(5).Draw(rt, "typed"))
}

// onBorder moves an offset back to the nearest boundary that a position can express.
func onBorder(text string, i int) int {
	for i > 0 && i < len(text) && (text[i]&0xC0 == 0x80 || text[i-1] == '\r' && text[i] == '\n') {
		i--
	}
	return i
}

func checkIndex(rt *rapid.T, d *document) {
	fresh := text.NewLineIndex(d.text)
	if fresh.Lines() != d.index.Lines() {
		rt.Fatalf("the index has %d lines, a new one %d, for %q", d.index.Lines(), fresh.Lines(),
			d.text)
	}
	for i := range len(d.text) + 1 {
		if want, got := fresh.Position(d.text, i, UTF8),
			d.index.Position(d.text, i, UTF8); got != want {
			rt.Fatalf("offset %d is at %v, in a new index at %v, in %q", i, got, want, d.text)
		}
	}
}

func TestPositionsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := genText(60).Draw(rt, "text")
		x := text.NewLineIndex([]byte(body))
		f := &fakeEditor{enc: rapid.SampledFrom([]Encoding{UTF8, UTF16}).Draw(rt, "encoding")}
		at := onBorder(body, rapid.IntRange(0, len(body)).Draw(rt, "offset"))
		p := x.Position([]byte(body), at, f.enc)
		if want := f.position(body, at); p != want {
			rt.Fatalf("position of %d in %q: %v, want %v", at, body, p, want)
		}
		if got := x.Offset([]byte(body), p, f.enc); got != at {
			rt.Fatalf("offset of %v in %q: %d, want %d", p, body, got, at)
		}
		wild := Position{Line: rapid.Uint32Range(0, 30).Draw(rt, "line"),
			Character: rapid.Uint32Range(0, 30).Draw(rt, "character")}
		if got, want := x.Offset([]byte(body), wild, f.enc), f.offset(body, wild); got != want {
			rt.Fatalf("offset of %v in %q: %d, want %d", wild, body, got, want)
		}
	})
}

func TestBadNotifications(t *testing.T) {
	w := New(Options{})
	defer w.Close()
	if err := w.DidChange("file:///x", 1, nil); !errors.Is(err, ErrNotOpen) {
		t.Fatal(err)
	}
	if err := w.DidClose("file:///x"); !errors.Is(err, ErrNotOpen) {
		t.Fatal(err)
	}
	must(t, w.DidOpen("untitled:1", "", 1, []byte("one\ntwo\n")))
	big := Position{Line: 1 << 31, Character: 1 << 31}
	must(t, w.DidChange("untitled:1", 2,
		[]ContentChange{{Range: &Range{Start: big, End: Position{Line: 1, Character: 0}},
			Text: []byte("x")}}))
	f := w.readBuffer(Ref{Key: "untitled:1"})
	equal(t, "text", string(f.Text.Data), "one\nx")
}

func TestBufferIsTheTruth(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "disk\n", "b.txt": "b\n"})
	odd := "file://" + b.dir + "/%61.txt"
	equal(t, "source", b.read("a.txt").SourceLabel(), "disk")
	b.ed.open(odd, "disk\n")
	equal(t, "source", b.read("a.txt").SourceLabel(), "buffer")
	b.ed.type_(odd, 0, 0, "un")
	f := b.read("a.txt")
	equal(t, "source", f.SourceLabel(), "buffer (unsaved)")
	equal(t, "text", string(f.Text.Data), "undisk\n")
	equal(t, "the client's own URI", f.Ref.URI, odd)
	if f.Diverged {
		t.Fatal("a change on disk was reported although there was none")
	}
	must(t, os.WriteFile(b.path("a.txt"), []byte("other\n"), 0o644))
	if f = b.read("a.txt"); !f.Diverged || len(b.notes) != 1 {
		t.Fatalf("diverged %v, notes %q", f.Diverged, b.notes)
	}
	b.read("a.txt")
	equal(t, "reported once", len(b.notes), 1)
	b.ed.save(odd)
	equal(t, "saved", b.read("a.txt").SourceLabel(), "buffer")
	docs := b.Documents()
	equal(t, "documents", len(docs), 1)
	equal(t, "clean", docs[0].Dirty, false)
	b.ed.close(odd)
	equal(t, "closed", b.read("a.txt").SourceLabel(), "disk")
	b.ed.open("untitled:u", "note\n")
	ref, err := b.Resolve(b.dir, "untitled:u")
	must(t, err)
	f, err = b.Read(context.Background(), ref)
	must(t, err)
	equal(t, "untitled", string(f.Text.Data), "note\n")
}

func TestSymlinkedNamesAreOneFile(t *testing.T) {
	b := newBench(t, map[string]string{"real/a.txt": ten})
	must(t, os.Symlink("real", b.path("link")))
	b.ed.open(b.uri("link/a.txt"), ten+"unsaved\n")
	equal(t, "text by the other name", string(b.read("real/a.txt").Text.Data), ten+"unsaved\n")
	b.propose(Auto, "real/a.txt", edited+"unsaved\n")
	equal(t, "the buffer changed", b.ed.text(b.uri("link/a.txt")), edited+"unsaved\n")
	equal(t, "the disk did not", b.disk("real/a.txt"), ten)
}

func TestStamps(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	f := b.read("a.txt")
	if _, err := b.CheckStamp("s", f, true); err == nil {
		t.Fatal("an unread file was writable")
	}
	b.Stamp("s", f, true)
	if _, err := b.CheckStamp("s", f, true); err != nil {
		t.Fatal(err)
	}
	if _, err := b.CheckStamp("other", f, true); err == nil {
		t.Fatal("another session's stamp was used")
	}
	must(t, os.WriteFile(b.path("a.txt"),
		bytes.ReplaceAll([]byte(ten), []byte("six"), []byte("SIX")), 0o644))
	_, err := b.CheckStamp("s", b.read("a.txt"), true)
	var ce *ChangedError
	if !errors.As(err, &ce) || !strings.Contains(err.Error(), "-six\n+SIX") {
		t.Fatal(err)
	}
}

// TestEmptyFileInEditor opens an empty file as Neovim does, which reports one empty line with a
// line ending.
func TestEmptyFileInEditor(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ""})
	b.ed.open(b.uri("a.txt"), "\n")
	if f := b.read("a.txt"); f.Diverged || len(b.notes) != 0 {
		t.Fatalf("diverged %v, notes %q", f.Diverged, b.notes)
	}
}

// TestOpenedUnsaved opens a document that already has unsaved changes. Only a later change on disk
// may be reported.
func TestOpenedUnsaved(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "disk\n"})
	must(t, os.Chtimes(b.path("a.txt"), time.Time{}, time.Now().Add(-time.Minute)))
	b.ed.open(b.uri("a.txt"), "unsaved\n")
	if f := b.read("a.txt"); f.Diverged || !f.Dirty || len(b.notes) != 0 {
		t.Fatalf("diverged %v, dirty %v, notes %q", f.Diverged, f.Dirty, b.notes)
	}
	must(t, os.WriteFile(b.path("a.txt"), []byte("other\n"), 0o644))
	if f := b.read("a.txt"); !f.Diverged || len(b.notes) != 1 {
		t.Fatalf("diverged %v, notes %q", f.Diverged, b.notes)
	}
}

// TestWholeTextMovesHunks checks that if an editor sends the whole document for each change, a
// proposal gets a new revision only if the text of a hunk has changed.
func TestWholeTextMovesHunks(t *testing.T) {
	const text = "a\n}\nb\n}\nc\nd\n}\n"
	const wanted = "a\n}\nb\n};\nc\nd\n}\n" // the hunk's old text, "}\n", occurs three times
	for _, c := range []struct {
		name, text string
		revision   int
		state      HunkState
		line       uint32
	}{
		{"a line before", "zero\n" + text, 1, HunkPending, 4},
		{"a line before and one behind", "zero\n" + text + "last\n", 1, HunkPending, 4},
		{"lines around", "a\n}\nB\n}\nC\nd\n}\n", 1, HunkPending, 3},
		{"the hunk's line", "a\n}\nb\n)\nc\nd\n}\nlast\n", 2, HunkStale, 3},
		{"nothing", text, 1, HunkPending, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"a.txt": text})
			uri := b.uri("a.txt")
			b.ed.open(uri, text)
			p := b.propose(Ask, "a.txt", wanted)
			b.ed.setAll(uri, c.text)
			got := b.get(p.ID)
			equal(t, "revision", got.Revision, c.revision)
			equal(t, "state", got.Files[0].Hunks[0].State, c.state)
			equal(t, "line", got.Files[0].Hunks[0].Range.Start.Line, c.line)
			if c.state == HunkPending {
				b.decide(p, accept("*"))
				at := strings.Index(strings.ToLower(c.text), "b\n}") + len("b\n}")
				equal(t, "text", b.ed.text(uri), c.text[:at]+";"+c.text[at:])
			}
		})
	}
	b := newBench(t, map[string]string{"a.txt": text})
	uri := b.uri("a.txt")
	b.ed.open(uri, text)
	p := b.propose(Ask, "a.txt", strings.Replace(text, "b", "B", 1))
	f := b.ed.docs[uri]
	must(t, b.DidChange(uri, f.version+1,
		[]ContentChange{{Text: []byte("gone\n")}, {Text: []byte(text)}}))
	equal(t, "a message that takes the text away and brings it back", b.get(p.ID).Revision, 1)
}
