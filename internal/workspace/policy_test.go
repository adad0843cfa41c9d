package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

func (b *bench) change(policy Policy, chs ...Change) (*Proposal, error) {
	return b.Propose(context.Background(),
		ProposeRequest{SessionID: "s", TurnID: "t1", Title: "Edit", Policy: policy, Changes: chs})
}

func TestCollectGrows(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten})
	p := b.propose(Collect, "a.txt", strings.Replace(ten, "two", "TWO", 1))
	equal(t, "nothing applied", b.disk("a.txt"), ten)
	f, err := b.ReadFor(context.Background(), "s", b.ref("a.txt"))
	must(t, err)
	equal(t, "source", f.SourceLabel(), "pending")
	equal(t, "pending text", string(f.Text.Data), strings.Replace(ten, "two", "TWO", 1))
	first := p.Files[0].Hunks[0].ID
	q := b.propose(Collect, "a.txt", strings.NewReplacer("two", "TWO", "nine", "NINE").Replace(ten))
	equal(t, "the same proposal", q.ID, p.ID)
	equal(t, "hunks", len(q.Files[0].Hunks), 2)
	equal(t, "the first keeps its id", q.Files[0].Hunks[0].ID, first)
	q = b.propose(Collect, "b.txt", edited, "new.txt", "new\n")
	equal(t, "files", len(q.Files), 3)
	equal(t, "other sessions see the disk", string(b.read("a.txt").Text.Data), ten)
	f, err = b.ReadFor(context.Background(), "s", b.ref("new.txt"))
	must(t, err)
	equal(t, "pending file", string(f.Text.Data), "new\n")
	equal(t, "a.txt on disk", b.disk("a.txt"), ten)
	equal(t, "b.txt on disk", b.disk("b.txt"), ten)
	if on := b.disk("new.txt"); !strings.HasPrefix(on, "error") {
		t.Fatal(on)
	}
	b.propose(Collect, "new.txt", "newer\n")
	o, err := b.Await(context.Background(), p.ID)
	must(t, err)
	if !strings.Contains(o.Text, "nothing is on disk") {
		t.Fatal(o.Text)
	}
	b.decide(p, Decision{HunkID: first, Action: Reject, Comment: "no"}, accept("*"))
	equal(t, "a.txt", b.disk("a.txt"), strings.Replace(ten, "nine", "NINE", 1))
	equal(t, "b.txt", b.disk("b.txt"), edited)
	equal(t, "new.txt", b.disk("new.txt"), "newer\n")
	equal(t, "not within a turn", len(b.Outcomes("s", false)), 0)
	out := b.Outcomes("s", true)
	if len(out) != 1 || !strings.Contains(out[0], `hunk 1 (a.txt) rejected: "no"`) {
		t.Fatalf("%q", out)
	}
	b.propose(Collect, "c.txt", "c\n")
	p, err = b.change(Collect, Change{Op: Delete, Ref: b.ref("c.txt")})
	must(t, err)
	equal(t, "nothing left of it", b.get(p.ID).State, StateSuperseded)
}

func TestConfirmReadsBack(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{true, false} {
		b := newBench(t, map[string]string{"a.txt": ten},
			func(_ *Options, f *fakeEditor) { f.features.ChangeAnnotations = true })
		uri := b.uri("a.txt")
		if open {
			b.ed.open(uri, ten)
		}
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			if len(e.Annotations) != 3 {
				t.Errorf("annotations %v", e.Annotations)
			}
			for id, a := range e.Annotations {
				if !a.NeedsConfirmation {
					t.Errorf("the editor need not ask about %v", id)
				}
			}
			if !open {
				b.ed.open(uri, ten)
			}
			d := e.Documents[0]
			d.Edits = append(d.Edits[:1:1], d.Edits[2])
			b.ed.mu.Lock()
			defer b.ed.mu.Unlock()
			b.ed.applyLocked(d)
			return ApplyReply{Applied: true}, nil
		}
		p := b.propose(Confirm, "a.txt", edited)
		o, err := b.Await(context.Background(), p.ID)
		must(t, err)
		equal(t, "state", o.State, StatePartial)
		equal(t, "outcome", o.Text, "applied 2/3 hunks; hunk 2 rejected")
	}
	b := newBench(t, map[string]string{"a.txt": ten},
		func(_ *Options, f *fakeEditor) { f.features.ChangeAnnotations = true })
	b.ed.misbehave = func(WorkspaceEdit) (ApplyReply, error) { return ApplyReply{}, nil }
	p := b.propose(Confirm, "a.txt", edited, "new.txt", "x\n")
	o, _ := b.Await(context.Background(), p.ID)
	equal(t, "nothing to undo", len(b.Checkpoints("s")), 0)
	equal(t, "cancelled", o.State, StateRejected)
	equal(t, "denied", o.Denied, true)
	equal(t, "disk", b.disk("a.txt"), ten)
}

func TestFileOperations(t *testing.T) {
	for _, open := range []bool{false, true} {
		b := newBench(t, map[string]string{"old.txt": ten, "gone.txt": "gone\n",
			"sub/x.txt": "x\n"})
		must(t, os.Chmod(b.path("gone.txt"), 0o600))
		if open {
			b.ed.open(b.uri("old.txt"), ten)
			b.ed.open(b.uri("gone.txt"), "gone\n")
		}
		p, err := b.change(Ask,
			Change{Op: Create, Ref: b.ref("deep/er/new.txt"), Data: []byte("new\n")},
			Change{Op: Delete, Ref: b.ref("gone.txt")},
			Change{Op: Rename, Ref: b.ref("old.txt"), NewRef: b.ref("sub/new.txt"),
				Data: []byte(edited)})
		must(t, err)
		for _, f := range p.Files {
			equal(t, "one hunk each", len(f.Hunks), 1)
		}
		r := b.decide(p, accept("*"))
		equal(t, "state", r.Proposal.State, StateApplied)
		equal(t, "created", b.disk("deep/er/new.txt"), "new\n")
		if _, err := os.Stat(b.path("gone.txt")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal("not deleted")
		}
		if _, err := os.Stat(b.path("old.txt")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal("not moved")
		}
		moved := b.disk("sub/new.txt")
		if open {
			moved = b.ed.text(b.uri("sub/new.txt"))
		}
		equal(t, "moved and changed", moved, edited)
		if open {
			b.ed.close(b.uri("sub/new.txt"))
			must(t, os.WriteFile(b.path("sub/new.txt"), []byte(edited), 0o644))
		}
		u := b.undo()
		equal(t, "conflicts", len(u.Conflicts), 0)
		equal(t, "old.txt is restored", b.disk("old.txt"), ten)
		equal(t, "gone.txt is restored", b.disk("gone.txt"), "gone\n")
		for _, name := range []string{"deep/er/new.txt", "sub/new.txt"} {
			if _, err := os.Stat(b.path(name)); !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(name + " still there")
			}
		}
		st, err := os.Stat(b.path("gone.txt"))
		must(t, err)
		equal(t, "mode", st.Mode().Perm(), fs.FileMode(0o600))
	}
}

func TestReviewOfFileOperations(t *testing.T) {
	b := newBench(t, map[string]string{"old.txt": ten, "gone.txt": "gone\n"})
	p, err := b.change(Review,
		Change{Op: Create, Ref: b.ref("new.txt"), Data: []byte("new\n")},
		Change{Op: Delete, Ref: b.ref("gone.txt")},
		Change{Op: Rename, Ref: b.ref("old.txt"), NewRef: b.ref("moved.txt")})
	must(t, err)
	equal(t, "moved", b.disk("moved.txt"), ten)
	r := b.decide(p, reject("*"))
	equal(t, "conflicts", len(r.Conflicts), 0)
	equal(t, "undone", b.disk("old.txt")+b.disk("gone.txt"), ten+"gone\n")
	if !strings.HasPrefix(b.disk("new.txt"), "error") ||
		!strings.HasPrefix(b.disk("moved.txt"), "error") {
		t.Fatal("something is left")
	}
}

func TestRefusals(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "n.ipynb": "{}", "ro.txt": "x\n",
		"bin": "a\x00b", "bad": "\xff\xfe\xfd"})
	must(t, os.Chmod(b.path("ro.txt"), 0o444))
	for name, chs := range map[string][]Change{
		"nothing":    {{Op: Modify, Ref: b.ref("a.txt"), Data: []byte(ten)}},
		"notebook":   {{Op: Modify, Ref: b.ref("n.ipynb"), Data: []byte("{1}")}},
		"read-only":  {{Op: Modify, Ref: b.ref("ro.txt"), Data: []byte("y\n")}},
		"exists":     {{Op: Create, Ref: b.ref("a.txt"), Data: []byte("y\n")}},
		"missing":    {{Op: Modify, Ref: b.ref("none.txt"), Data: []byte("y\n")}},
		"no delete":  {{Op: Delete, Ref: b.ref("none.txt")}},
		"taken":      {{Op: Rename, Ref: b.ref("a.txt"), NewRef: b.ref("bin")}},
		"stale base": {{Op: Modify, Ref: b.ref("a.txt"), Data: []byte("y\n"), Base: "0000"}},
		"twice": {{Op: Delete, Ref: b.ref("a.txt")},
			{Op: Modify, Ref: b.ref("a.txt"), Data: []byte("y")}},
		"undecodable": {{Op: Modify, Ref: b.ref("bad"), Data: []byte("y\n")}},
		"one of two": {{Op: Modify, Ref: b.ref("a.txt"), Data: []byte(edited)},
			{Op: Delete, Ref: b.ref("none.txt")}},
	} {
		if _, err := b.change(Auto, chs...); err == nil {
			t.Fatalf("%s was not refused", name)
		}
		equal(t, name+": nothing changed", b.disk("a.txt"), ten)
	}
	equal(t, "no proposal is left", len(b.List("", "", "")), 0)
}

func TestBytesOutsideStay(t *testing.T) {
	for name, raw := range map[string]string{
		"crlf":  "one\r\ntwo\r\nthree\r\n",
		"mixed": "one\r\ntwo\nthree\rfour",
		"bom":   "\ufeffone\ntwo\nthree",
		"utf16": "\xff\xfeo\x00n\x00e\x00\n\x00t\x00w\x00o\x00\n\x00",
	} {
		b := newBench(t, map[string]string{"a.txt": raw})
		f := b.read("a.txt")
		_, err := b.change(Auto, Change{Op: Modify, Ref: f.Ref,
			Data: []byte(strings.Replace(string(f.Text.Data), "two", "2", 1)), Base: f.SHA256})
		must(t, err)
		two, to := "two", "2"
		if name == "utf16" {
			two, to = "t\x00w\x00o\x00", "2\x00"
		}
		equal(t, name, b.disk("a.txt"), strings.Replace(raw, two, to, 1))
	}
}

func TestDiskWriteKeepsModeAndLink(t *testing.T) {
	b := newBench(t, map[string]string{"real.sh": "#!/bin/sh\necho\n"})
	must(t, os.Chmod(b.path("real.sh"), 0o755))
	must(t, os.Symlink("real.sh", b.path("link.sh")))
	b.propose(Auto, "link.sh", "#!/bin/sh\necho 2\n")
	st, err := os.Lstat(b.path("link.sh"))
	must(t, err)
	if st.Mode()&fs.ModeSymlink == 0 {
		t.Fatal("the link was replaced by a file")
	}
	equal(t, "text", b.disk("real.sh"), "#!/bin/sh\necho 2\n")
	st, err = os.Stat(b.path("real.sh"))
	must(t, err)
	equal(t, "mode", st.Mode().Perm(), fs.FileMode(0o755))
	names, err := os.ReadDir(b.dir)
	must(t, err)
	equal(t, "no temporary file is left", len(names), 2)
}

// TestWriteComparesAndSwaps changes the file between the read and the rename. Both changes must be
// kept.
func TestWriteComparesAndSwaps(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	n := 0
	files.AtStep = func(at string) {
		if at == "temp written" {
			if n++; n == 1 {
				must(t, os.WriteFile(b.path("a.txt"), []byte("zero\n"+ten), 0o644))
			}
		}
	}
	defer func() { files.AtStep = func(string) {} }()
	p := b.propose(Auto, "a.txt", edited)
	equal(t, "state", p.State, StateApplied)
	equal(t, "both changes", b.disk("a.txt"), "zero\n"+edited)
}

func TestFormatAndCheck(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten}, func(o *Options, _ *fakeEditor) {
		o.Format = func(_ context.Context, _ string, text []byte) ([]byte, error) {
			return []byte(strings.ReplaceAll(string(text), "TWO", "Two")), nil
		}
		o.Check = func(
			_ context.Context, session string, paths []string, _ any,
		) (string, error) {
			return session + " vet: " + strings.Join(paths, " "), nil
		}
	})
	p := b.propose(Auto, "a.txt", edited)
	equal(t, "formatted before it was proposed", b.disk("a.txt"),
		strings.Replace(edited, "TWO", "Two", 1))
	o, err := b.Await(context.Background(), p.ID)
	must(t, err)
	equal(t, "outcome", o.Text, "applied 3/3 hunks\na.txt was formatted before it was proposed.\ns vet: "+b.path("a.txt"))
}

func TestNewFileOpenUnsavedIsEditedInTheBuffer(t *testing.T) {
	b := newBench(t, nil)
	b.ed.open(b.uri("new.go"), "")
	p, err := b.change(Auto, Change{Op: Create, Ref: b.ref("new.go"), Data: []byte("package x\n")})
	must(t, err)
	equal(t, "state", p.State, StateApplied)
	equal(t, "buffer", b.ed.text(b.uri("new.go")), "package x\n")
	if _, err := os.Stat(b.path("new.go")); err == nil {
		t.Fatal("written to disk under an open buffer")
	}
}

// TestEndOfText checks that the range of an edit at the end of a text contains only lines that the
// editor has.
func TestEndOfText(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\ntwo\n"})
	b.ed.open(b.uri("a.txt"), "one\ntwo\n")
	b.propose(Auto, "a.txt", "one\ntwo\nthree\n")
	e := b.ed.requests[0].Documents[0].Edits[0]
	equal(t, "place", e.Range, Range{Start: Position{Line: 1, Character: 3},
		End: Position{Line: 1, Character: 3}})
	equal(t, "text", e.NewText, "\nthree")
	b.propose(Auto, "a.txt", "one\n")
	e = b.ed.requests[1].Documents[0].Edits[0]
	equal(t, "place", e.Range, Range{Start: Position{Line: 0, Character: 3},
		End: Position{Line: 2, Character: 5}})
	equal(t, "buffer", b.ed.text(b.uri("a.txt")), "one\n")
}

// TestConfirmHoldsNoLock checks that while the editor asks the user about one proposal, another one
// can be made for the file, and applied if that is safe.
func TestConfirmHoldsNoLock(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{true, false} {
		b := newBench(t, map[string]string{"a.txt": ten},
			func(_ *Options, f *fakeEditor) { f.features.ChangeAnnotations = true })
		uri := b.uri("a.txt")
		if open {
			b.ed.open(uri, ten)
		}
		asked, answer := make(chan struct{}), make(chan struct{})
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			if len(e.Annotations) == 0 {
				return b.ed.honest(e), nil
			}
			close(asked)
			<-answer
			return ApplyReply{}, nil
		}
		p := b.propose(Confirm, "a.txt", edited)
		ended := make(chan Outcome)
		go func() {
			o, _ := b.Await(context.Background(), p.ID)
			ended <- o
		}()
		<-asked
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		other, err := b.Propose(ctx, ProposeRequest{SessionID: "other", Policy: Auto,
			Changes: []Change{{Op: Modify, Ref: b.ref("a.txt"),
				Data: []byte(strings.Replace(ten, "ten", "zehn", 1))}}})
		must(t, err)
		o, err := b.Await(ctx, other.ID)
		must(t, err)
		cancel()
		if open {
			equal(t, "the other session's change", o.State, StateApplied)
			equal(t, "text", b.ed.text(uri), strings.Replace(ten, "ten", "zehn", 1))
		} else {
			equal(t, "the file that the editor shows", b.disk("a.txt"), ten)
			if !strings.Contains(o.Text, beingConfirmed) {
				t.Errorf("the outcome does not say why: %s", o.Text)
			}
		}
		close(answer)
		equal(t, "the confirmation", (<-ended).State, StateRejected)
		if len(b.confirming) != 0 {
			t.Errorf("marks are left: %v", b.confirming)
		}
	}
}
