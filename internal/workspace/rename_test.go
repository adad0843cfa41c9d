package workspace

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// moved renames a file or folder as an editor does: it renames the file on disk, closes the old
// document and opens the new one, and reports the rename. order lists the notifications, which
// differ between editors.
func (b *bench) moved(order string, from, to string) {
	b.t.Helper()
	must(b.t, os.MkdirAll(filepath.Dir(b.path(to)), 0o755))
	must(b.t, os.Rename(b.path(from), b.path(to)))
	text := b.ed.text(b.uri(from))
	for _, what := range order {
		switch what {
		case 'c':
			b.ed.close(b.uri(from))
		case 'o':
			b.ed.open(b.uri(to), text)
		case 'r':
			b.FilesRenamed([]FileRename{{b.uri(from), b.uri(to)}})
		}
	}
}

func TestPendingFollowsRename(t *testing.T) {
	for _, order := range []string{"r", "cor", "cro", "rco", "ocr", "orc"} {
		for _, policy := range []Policy{Ask, Review, Collect} {
			t.Run(order+" "+string(policy), func(t *testing.T) {
				b := newBench(t, map[string]string{"a.txt": ten})
				if order != "r" {
					b.ed.open(b.uri("a.txt"), ten)
				}
				p := b.propose(policy, "a.txt", edited)
				b.moved(order, "a.txt", "sub/b.txt")
				q := b.get(p.ID)
				equal(t, "uri", q.Files[0].URI, b.uri("sub/b.txt"))
				equal(t, "revision", q.Revision, p.Revision)
				equal(t, "hunks", states(q), "pending pending pending")
				equal(t, "at the new place", len(b.PendingAt(b.uri("sub/b.txt"))), 1)
				equal(t, "at the old place", len(b.PendingAt(b.uri("a.txt"))), 0)
				if order != "r" {
					b.ed.type_(b.uri("sub/b.txt"), 0, 0, "typed\n")
				}
				h := q.Files[0].Hunks
				r := b.decide(&q, accept(h[0].ID), reject(h[1].ID), accept(h[2].ID))
				equal(t, "conflicts", len(r.Conflicts), 0)
				want := strings.Replace(edited, "FIVE", "five", 1)
				if order == "r" {
					equal(t, "text", b.disk("sub/b.txt"), want)
				} else {
					equal(t, "text", b.ed.text(b.uri("sub/b.txt")), "typed\n"+want)
				}
				if _, err := os.Stat(b.path("a.txt")); err == nil {
					t.Fatal("the old file exists again")
				}
			})
		}
	}
}

func TestPendingFollowsFolder(t *testing.T) {
	b := newBench(t, map[string]string{"d/a.txt": ten, "d/b.txt": ten, "dd/c.txt": ten})
	p := b.propose(Ask, "d/a.txt", edited, "d/new.txt", "new\n", "dd/c.txt", edited)
	b.Stamp("s", b.read("d/b.txt"), true)
	b.moved("r", "d", "e/f")
	opt := b.opt
	b.get(p.ID) // queries the proposal as a client would
	b.Workspace.Close()
	b.start(opt)
	must(t, b.LoadSession(context.Background(), "s"))
	q := b.get(p.ID)
	for i, name := range []string{"e/f/a.txt", "e/f/new.txt", "dd/c.txt"} {
		equal(t, "uri", q.Files[i].URI, b.uri(name))
	}
	equal(t, "conflicts", len(b.decide(&q, accept("*")).Conflicts), 0)
	equal(t, "a", b.disk("e/f/a.txt"), edited)
	equal(t, "new", b.disk("e/f/new.txt"), "new\n")
	equal(t, "c", b.disk("dd/c.txt"), edited)
}

func TestStampFollowsRename(t *testing.T) {
	b := newBench(t, map[string]string{"d/a.txt": ten})
	b.Stamp("s", b.read("d/a.txt"), true)
	b.moved("r", "d", "d2")
	if _, err := b.CheckStamp("s", b.read("d2/a.txt"), true); err != nil {
		t.Fatal(err)
	}
}

// TestPendingFollowsAcceptedRename checks that if a rename in one proposal is accepted, another
// proposal for that file follows it to the new name.
func TestPendingFollowsAcceptedRename(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	r, err := b.Propose(context.Background(),
		ProposeRequest{SessionID: "s2", Policy: Ask,
			Changes: []Change{{Op: Rename, Ref: b.ref("a.txt"), NewRef: b.ref("b.txt")}}})
	must(t, err)
	equal(t, "renamed", b.decide(r, accept("*")).Proposal.State, StateApplied)
	q := b.get(p.ID)
	equal(t, "uri", q.Files[0].URI, b.uri("b.txt"))
	equal(t, "conflicts", len(b.decide(&q, accept("*")).Conflicts), 0)
	equal(t, "b", b.disk("b.txt"), edited)
}

// TestRenamedByHand checks that if the user already renamed the file of a pending rename, the
// decision is a conflict, and no text is lost.
func TestRenamedByHand(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p, err := b.Propose(context.Background(),
		ProposeRequest{SessionID: "s", Policy: Ask,
			Changes: []Change{{Op: Rename, Ref: b.ref("a.txt"), NewRef: b.ref("b.txt")}}})
	must(t, err)
	b.moved("r", "a.txt", "b.txt")
	equal(t, "conflicts", len(b.decide(p, accept("*")).Conflicts), 1)
	equal(t, "b", b.disk("b.txt"), ten)
}

// TestRenameKeepsWhatTheUserChanged covers the case in which the user changes a file after its
// rename was proposed, or applied for review. The renamed file contains the user's text. A rename
// that also changes the text is a conflict and loses nothing.
func TestRenameKeepsWhatTheUserChanged(t *testing.T) {
	const mine = "mine\n" + ten
	for _, open := range []bool{false, true} {
		b := newBench(t, map[string]string{"a.txt": ten, "c.txt": ten, "e.txt": ten})
		change := func(name string) {
			if open {
				b.ed.type_(b.uri(name), 0, 0, "mine\n")
				b.ed.save(b.uri(name))
				return
			}
			must(t, os.WriteFile(b.path(name), []byte(mine), 0o644))
		}
		if open {
			b.ed.open(b.uri("a.txt"), ten)
			b.ed.open(b.uri("c.txt"), ten)
			b.ed.open(b.uri("e.txt"), ten)
		}
		p, err := b.change(Ask, Change{Op: Rename, Ref: b.ref("a.txt"), NewRef: b.ref("b.txt")})
		must(t, err)
		change("a.txt")
		equal(t, "conflicts", len(b.decide(p, accept("*")).Conflicts), 0)
		equal(t, "renamed", string(b.read("b.txt").Text.Data), mine)
		equal(t, "conflicts of the undoing", len(b.undo().Conflicts), 0)
		equal(t, "back", string(b.read("a.txt").Text.Data), mine)

		p, err = b.change(Ask, Change{Op: Rename, Ref: b.ref("c.txt"), NewRef: b.ref("d.txt"),
			Data: []byte(edited)})
		must(t, err)
		change("c.txt")
		equal(t, "conflicts", len(b.decide(p, accept(p.Files[0].Hunks[0].ID)).Conflicts), 1)
		equal(t, "left", b.disk("c.txt"), mine)

		p, err = b.change(Review, Change{Op: Rename, Ref: b.ref("e.txt"), NewRef: b.ref("f.txt")})
		must(t, err)
		change("f.txt")
		equal(t, "conflicts", len(b.decide(p, reject("*")).Conflicts), 0)
		equal(t, "undone", string(b.read("e.txt").Text.Data), mine)
	}
}

// TestRenameWithoutItsText checks that if the new text of a rename cannot be written, the rename is
// undone and can be decided again.
func TestRenameWithoutItsText(t *testing.T) {
	for _, open := range []bool{false, true} {
		for _, policy := range []Policy{Ask, Review} {
			b := newBench(t, map[string]string{"a.txt": ten})
			if open {
				b.ed.open(b.uri("a.txt"), ten)
			}
			p, err := b.change(policy, Change{Op: Rename, Ref: b.ref("a.txt"),
				NewRef: b.ref("b.txt"), Data: []byte(edited)})
			must(t, err)
			action, was, text := Accept, "a.txt", ten
			if policy == Review {
				action, was, text = Reject, "b.txt", edited
			}
			allow := b.refuseTexts(was, open)
			r := b.decide(p, Decision{HunkID: "*", Action: action})
			equal(t, "conflicts", len(r.Conflicts), 1)
			equal(t, "where it was", string(b.read(was).Text.Data), text)
			equal(t, "files", strings.Join(b.files(), " "), was)
			equal(t, "hunk", states(b.get(p.ID)), "pending")
			allow()
			r = b.decide(p, Decision{HunkID: "*", Action: action})
			equal(t, "conflicts", len(r.Conflicts), 0)
			if policy == Ask {
				equal(t, "renamed", string(b.read("b.txt").Text.Data), edited)
			} else {
				equal(t, "back", string(b.read("a.txt").Text.Data), ten)
			}
		}
	}
}

// TestRenameByHalf checks that if the text of a rename cannot be written and the rename cannot be
// undone either, this is reported and no text is lost.
func TestRenameByHalf(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	b.ed.open(b.uri("a.txt"), ten)
	b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
		if len(e.Files) > 0 && e.Files[0].URI == b.uri("a.txt") {
			return b.ed.honest(e), nil
		}
		return ApplyReply{FailureReason: "no more"}, nil
	}
	p, err := b.change(Ask, Change{Op: Rename, Ref: b.ref("a.txt"), NewRef: b.ref("b.txt"),
		Data: []byte(edited)})
	must(t, err)
	r := b.decide(p, accept("*"))
	equal(t, "state", r.Proposal.State, StateConflict)
	equal(t, "reason", r.Conflicts[0].Reason,
		"it was renamed, but its text was not changed: changing b.txt: no more")
	equal(t, "text", string(b.read("b.txt").Text.Data), ten)
	equal(t, "files", strings.Join(b.files(), " "), "b.txt")
}

// refuseTexts prevents the text of a file from being changed. A closed file is made read-only. For
// an open one, the editor refuses edits.
func (b *bench) refuseTexts(name string, open bool) (allow func()) {
	if !open {
		must(b.t, os.Chmod(b.path(name), 0o444))
		return func() { must(b.t, os.Chmod(b.path(name), 0o644)) }
	}
	refuse := func(e WorkspaceEdit) (ApplyReply, error) {
		if len(e.Files) > 0 {
			return b.ed.honest(e), nil
		}
		return ApplyReply{FailureReason: "no"}, nil
	}
	b.ed.mu.Lock()
	defer b.ed.mu.Unlock()
	b.ed.misbehave = refuse
	return func() { b.ed.mu.Lock(); defer b.ed.mu.Unlock(); b.ed.misbehave = nil }
}

// files lists the files in the workspace.
func (b *bench) files() (out []string) {
	must(b.t, filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(b.dir, path)
			out = append(out, rel)
		}
		return err
	}))
	return out
}

// TestRenameIsFormatted checks that the new text of a rename is formatted for its new name before
// it is proposed, and not again when it is written or undone. The text that is written is the one
// that was shown.
func TestRenameIsFormatted(t *testing.T) {
	const unformatted = "one\ntwo\n"
	b := newBench(t, map[string]string{"a.txt": unformatted}, func(o *Options, _ *fakeEditor) {
		o.Format = func(_ context.Context, path string, text []byte) ([]byte, error) {
			return append([]byte(filepath.Base(path)+"\n"),
				bytes.TrimPrefix(text, []byte("b.txt\n"))...), nil
		}
	})
	p, err := b.change(Review, Change{Op: Rename, Ref: b.ref("a.txt"), NewRef: b.ref("b.txt"),
		Data: []byte("TWO\n")})
	must(t, err)
	equal(t, "shown", p.Files[0].Hunks[0].NewText, "b.txt\nTWO\n")
	equal(t, "written", b.disk("b.txt"), "b.txt\nTWO\n")
	equal(t, "conflicts", len(b.decide(p, reject("*")).Conflicts), 0)
	equal(t, "back", b.disk("a.txt"), unformatted)
	_, err = b.change(Auto, Change{Op: Rename, Ref: b.ref("a.txt"), NewRef: b.ref("b.txt")})
	must(t, err)
	equal(t, "a rename without a new text", b.disk("b.txt"), unformatted)
}

// TestConfirmedRename checks that an editor that asks its user about a rename receives the new text
// together with the rename, and that the outcome is reported.
func TestConfirmedRename(t *testing.T) {
	t.Parallel()
	for state, text := range map[State]string{StateApplied: edited, StateConflict: ten} {
		b := newBench(t, map[string]string{"a.txt": ten},
			func(_ *Options, f *fakeEditor) { f.features.ChangeAnnotations = true })
		b.ed.open(b.uri("a.txt"), ten)
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			b.ed.mu.Lock()
			defer b.ed.mu.Unlock()
			b.ed.fileOp(e.Files[0])
			for _, d := range e.Documents {
				if state == StateApplied {
					b.ed.applyLocked(d)
				}
				for _, te := range d.Edits {
					equal(t, "annotation", te.AnnotationID, e.Files[0].AnnotationID)
				}
			}
			return ApplyReply{Applied: true}, nil
		}
		p, err := b.change(Confirm, Change{Op: Rename, Ref: b.ref("a.txt"), NewRef: b.ref("b.txt"),
			Data: []byte(edited)})
		must(t, err)
		o, err := b.Await(context.Background(), p.ID)
		must(t, err)
		equal(t, "text", string(b.read("b.txt").Text.Data), text)
		equal(t, "state", o.State, state)
	}
}

// TestConfirmedCreation checks that a file that the editor created without its text is reported as
// a conflict.
func TestConfirmedCreation(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(_ *Options, f *fakeEditor) { f.features.ChangeAnnotations = true })
	b.ed.misbehave = func(WorkspaceEdit) (ApplyReply, error) {
		must(t, os.WriteFile(b.path("new.txt"), nil, 0o644))
		return ApplyReply{Applied: true}, nil
	}
	p := b.propose(Confirm, "new.txt", "new\n")
	o, err := b.Await(context.Background(), p.ID)
	must(t, err)
	equal(t, "state", o.State, StateConflict)
}

// TestRenameWhileDeciding renames the file during a decision. The decision reports a conflict, and
// the remaining hunks can be decided under the new name.
func TestRenameWhileDeciding(t *testing.T) {
	defer func() { files.AtStep = func(string) {} }()
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	h := p.Files[0].Hunks
	files.AtStep = func(name string) {
		if name == "intent kept" {
			files.AtStep = func(string) {}
			b.moved("r", "a.txt", "b.txt")
		}
	}
	r := b.decide(p, accept(h[0].ID))
	equal(t, "conflicts", len(r.Conflicts), 1)
	equal(t, "b", b.disk("b.txt"), ten)
	q := b.get(p.ID)
	equal(t, "uri", q.Files[0].URI, b.uri("b.txt"))
	equal(t, "the rest", len(b.decide(&q, accept("*")).Conflicts), 0)
	equal(t, "b", b.disk("b.txt"), edited)
}

// TestRenamesThatCannotBe checks that renames reported by an editor are ignored if they lead
// outside the workspace or to an invalid target.
func TestRenamesThatCannotBe(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	must(t, os.Symlink("/nowhere/at/all", b.path("dangling")))
	for _, to := range []string{"file:///etc/passwd", "untitled:x", "", b.uri("dangling"),
		"file:///proc/self/mem"} {
		b.FilesRenamed([]FileRename{{b.uri("a.txt"), to}, {to, b.uri("c.txt")},
			{b.uri("a.txt"), b.uri("a.txt")}})
		equal(t, "uri after "+to, b.get(p.ID).Files[0].URI, b.uri("a.txt"))
	}
	equal(t, "conflicts", len(b.decide(p, accept("*")).Conflicts), 0)
	equal(t, "a", b.disk("a.txt"), edited)
}

// TestRenameIsToldLate covers the case in which an editor renames an open file on disk and reports
// the new document late, with the current text, or never. The text of the rename is changed in the
// new document if it is opened, and otherwise in the file.
func TestRenameIsToldLate(t *testing.T) {
	for name, reopens := range map[string]bool{"opens the new file late": true,
		"opens it never": false} {
		inBubble(t, name, func(t *testing.T, b *bench, uri string) {
			b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
				if len(e.Files) == 0 {
					return b.ed.honest(e), nil
				}
				must(t, os.Rename(b.path("a.txt"), b.path("new.txt")))
				go func() {
					time.Sleep(verifyWait / 2)
					b.ed.close(uri)
					if reopens {
						b.ed.open(b.uri("new.txt"), ten)
					}
				}()
				return ApplyReply{Applied: true}, nil
			}
			p, err := b.change(Auto, Change{Op: Rename, Ref: b.ref("a.txt"),
				NewRef: b.ref("new.txt"), Data: []byte(edited)})
			must(t, err)
			o, err := b.Await(context.Background(), p.ID)
			must(t, err)
			equal(t, "state", o.State, StateApplied)
			if reopens {
				equal(t, "the editor's text", b.ed.text(b.uri("new.txt")), edited)
			} else {
				equal(t, "the file", b.disk("new.txt"), edited)
			}
		})
	}
}
