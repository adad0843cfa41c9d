package workspace

import (
	"context"
	"os"
	"testing"
)

// diverge opens a file, types into its buffer, and changes it on disk. It returns a channel of the
// files that the user is asked about. The user's answer is always the given one.
func diverge(t *testing.T, answer ReloadAnswer) (b *bench, asked chan string) {
	asked = make(chan string, 9)
	b = newBench(t, map[string]string{"a.txt": "one\ntwo\nthree\n"},
		func(o *Options, _ *fakeEditor) {
			o.AskReload = func(_ context.Context, name string) ReloadAnswer {
				asked <- name
				return answer
			}
		})
	b.ed.open(b.uri("a.txt"), "one\ntwo\nthree\n")
	b.read("a.txt")
	b.ed.type_(b.uri("a.txt"), 0, 0, "mine\n")
	equal(t, "only unsaved", b.read("a.txt").Diverged, false)
	must(t, os.WriteFile(b.path("a.txt"), []byte("one\nTWO\nthree\n"), 0o644))
	b.WatchedFilesChanged([]FileEvent{{URI: b.uri("a.txt")}})
	equal(t, "asked about", <-asked, "a.txt")
	return b, asked
}

func TestReload(t *testing.T) {
	b, _ := diverge(t, ReloadDisk)
	b.wg.Wait()
	equal(t, "the buffer is the file", b.ed.text(b.uri("a.txt")), "one\nTWO\nthree\n")
	f := b.read("a.txt")
	equal(t, "dirty", f.Dirty, false)
	equal(t, "one request", len(b.ed.requests), 1)
	equal(t, "small edits", len(b.ed.requests[0].Documents[0].Edits), 2)
}

func TestKeepBuffer(t *testing.T) {
	b, asked := diverge(t, KeepBuffer)
	b.wg.Wait()
	equal(t, "the buffer is kept", b.ed.text(b.uri("a.txt")), "mine\none\ntwo\nthree\n")
	f := b.read("a.txt")
	equal(t, "unsaved, no more", f.Dirty && !f.Diverged, true)
	b.ed.type_(b.uri("a.txt"), 0, 0, "more\n")
	b.read("a.txt")
	equal(t, "asked again", len(asked), 0)
	must(t, os.WriteFile(b.path("a.txt"), []byte("once more\n"), 0o644))
	equal(t, "changed once more", b.read("a.txt").Diverged, true)
	equal(t, "asked again about", <-asked, "a.txt")
}

func TestNoAnswerLeavesBothAlone(t *testing.T) {
	b, asked := diverge(t, "")
	b.wg.Wait()
	equal(t, "the buffer", b.ed.text(b.uri("a.txt")), "mine\none\ntwo\nthree\n")
	equal(t, "the file", b.disk("a.txt"), "one\nTWO\nthree\n")
	equal(t, "diverged", b.read("a.txt").Diverged, true)
	equal(t, "asked again", len(asked), 0)
}

// TestTypingWhileSaved types while the editor is writing the previous text, as with autosave. This
// must not be treated as a change by another program.
func TestTypingWhileSaved(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	b.ed.open(b.uri("a.txt"), "one\n")
	agree := func(what string) {
		t.Helper()
		if f := b.read("a.txt"); f.Diverged || !f.Dirty || len(b.notes) != 0 {
			t.Fatalf("%s: diverged %v, dirty %v, notes %q", what, f.Diverged, f.Dirty, b.notes)
		}
	}
	b.ed.type_(b.uri("a.txt"), 0, 0, "a")
	must(t, os.WriteFile(b.path("a.txt"), []byte("aone\n"), 0o644)) // written by the editor
	b.ed.type_(b.uri("a.txt"), 0, 0, "b")
	agree("written, not reported yet")
	must(t, os.WriteFile(b.path("a.txt"), []byte("baone\n"), 0o644))
	b.ed.type_(b.uri("a.txt"), 0, 0, "c")
	must(t, b.DidSave(b.uri("a.txt"), nil))
	agree("reported after more was typed")
	must(t, os.WriteFile(b.path("a.txt"), []byte("aone\n"), 0o644))
	equal(t, "an older text, written by another program", b.read("a.txt").Diverged, true)
}
