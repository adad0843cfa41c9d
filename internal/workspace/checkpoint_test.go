package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

func (b *bench) turn(turn, name, text string) {
	b.t.Helper()
	ref := b.ref(name)
	ch := Change{Op: Modify, Ref: ref, Data: []byte(text)}
	if !files.Exists(ref) {
		ch.Op = Create
	}
	_, err := b.Propose(context.Background(),
		ProposeRequest{SessionID: "s", TurnID: turn, MessageID: "m-" + turn, Title: "edit",
			Policy: Auto, Changes: []Change{ch}})
	must(b.t, err)
}

func (b *bench) undo() RestoreResult {
	b.t.Helper()
	r, err := b.Restore(context.Background(), b.standing())
	must(b.t, err)
	return r
}

// standing returns the ID of the newest checkpoint that can be undone, or "".
func (b *bench) standing() string {
	for _, cp := range b.Checkpoints("s") {
		if !cp.Restore && !cp.Undone && len(cp.Files) > 0 {
			return cp.ID
		}
	}
	return ""
}

func TestCheckpointsListDiffUndo(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	v1, v2 := strings.Replace(ten, "two", "2", 1),
		strings.NewReplacer("two", "2", "nine", "9").Replace(ten)
	b.turn("t1", "a.txt", v1)
	b.turn("t1", "new.txt", "new\n")
	b.turn("t2", "a.txt", v2)
	cps := b.Checkpoints("s")
	equal(t, "one per turn", len(cps), 2)
	equal(t, "newest first", cps[0].TurnID+" "+cps[1].TurnID, "t2 t1")
	equal(t, "message", cps[1].MessageID, "m-t1")
	equal(t, "files", strings.Join(cps[1].Files, " "), b.uri("a.txt")+" "+b.uri("new.txt"))
	diff, err := b.CheckpointDiff(context.Background(), cps[1].ID)
	must(t, err)
	if !strings.Contains(diff, "-two\n+2\n") || !strings.Contains(diff, "+new\n") ||
		!strings.Contains(diff, "-nine\n+9") {
		t.Fatal(diff)
	}
	diff, err = b.CheckpointDiff(context.Background(), cps[0].ID)
	must(t, err)
	if strings.Contains(diff, "+2\n") || !strings.Contains(diff, "-nine\n+9") {
		t.Fatal(diff)
	}
	// After a restart, the information is the same.
	opt := b.opt
	b.Workspace.Close()
	b.start(opt)
	equal(t, "after a restart", len(b.Checkpoints("s")), 2)
	equal(t, "session", b.session(cps[1].ID), "s")

	b.undo()
	equal(t, "one turn undone", b.disk("a.txt"), v1)
	r := b.undo()
	equal(t, "both undone", b.disk("a.txt"), ten)
	equal(t, "message to branch at", r.MessageID, "m-t1")
	if !strings.HasPrefix(b.disk("new.txt"), "error") {
		t.Fatal("the created file still exists")
	}
	equal(t, "nothing is left to undo", b.standing(), "")
	_, err = b.Restore(context.Background(), r.UndoCheckpointID)
	must(t, err)
	equal(t, "the undo undone", b.disk("a.txt"), v1)
	equal(t, "and the file", b.disk("new.txt"), "new\n")
	b.undo()
	equal(t, "undone again", b.disk("a.txt"), ten)
	if _, err := b.Restore(context.Background(), "c_nothing"); !errors.Is(err,
		ErrUnknownCheckpoint) {
		t.Fatal(err)
	}
}

func (b *bench) session(id string) string {
	cp, err := b.Checkpoint(id)
	must(b.t, err)
	return cp.SessionID
}

// TestCheckpointCountsARetryOnce checks that an edit that the editor applied only at the second
// request is counted once.
func TestCheckpointCountsARetryOnce(t *testing.T) {
	inBubble(t, "skips the second edit once", func(t *testing.T, b *bench, uri string) {
		b.propose(Auto, "a.txt", strings.Replace(ten, "two", "2", 1))
		asked := 0
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			if asked++; asked == 1 {
				return ApplyReply{Applied: true}, nil
			}
			return b.ed.honest(e), nil
		}
		b.propose(Auto, "a.txt", strings.NewReplacer("two", "2", "nine", "9").Replace(ten))
		equal(t, "asked", asked, 2)
		equal(t, "stat", b.Checkpoints("s")[0].Stat, Stat{Files: 1, Added: 2, Removed: 2})
	})
}

func TestRestoreConflicts(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten, "c.txt": ten})
	b.turn("t1", "a.txt", edited)
	b.turn("t1", "b.txt", edited)
	b.turn("t1", "c.txt", edited)
	b.turn("t1", "new.txt", "new\n")
	same := strings.Replace(edited, "TWO", "TWO by me", 1)
	must(t, os.WriteFile(b.path("a.txt"), []byte(same), 0o644))
	must(t, os.WriteFile(b.path("b.txt"), []byte(edited+"mine\n"), 0o644))
	must(t, os.Remove(b.path("c.txt")))
	must(t, os.WriteFile(b.path("new.txt"), []byte("new\nmine\n"), 0o644))
	r := b.undo()
	equal(t, "conflicts", len(r.Conflicts), 3)
	equal(t, "changes", len(r.Changes), 1)
	equal(t, "both changed the line", b.disk("a.txt"), same)
	equal(t, "merged", b.disk("b.txt"), ten+"mine\n")
	equal(t, "the user's file", b.disk("new.txt"), "new\nmine\n")
	if !strings.HasPrefix(b.disk("c.txt"), "error") {
		t.Fatal("a file that the user deleted was restored")
	}
}

// TestRestoreTellsOfOtherProposals checks that if a restore removes the text on which another
// proposal is based, clients receive an update of that proposal immediately.
func TestRestoreTellsOfOtherProposals(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	b.propose(Auto, "a.txt", strings.Replace(ten, "two", "TWO", 1))
	p := b.propose(Ask, "a.txt", strings.Replace(ten, "two", "TWO!", 1))
	b.undo()
	equal(t, "hunk", states(b.get(p.ID)), "stale")
	kinds := b.kinds()
	equal(t, "reported", kinds[len(kinds)-1], "updated 2 proposed")
}

func TestRestoreGoesThroughTheEditor(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	b.ed.open(b.uri("a.txt"), ten)
	b.turn("t1", "a.txt", edited)
	b.ed.replace(b.uri("a.txt"), "seven", "seven typed")
	events := len(b.kinds())
	b.undo()
	equal(t, "buffer", b.ed.text(b.uri("a.txt")), strings.Replace(ten, "seven", "seven typed", 1))
	equal(t, "disk", b.disk("a.txt"), ten)
	equal(t, "no proposal is shown for it", len(b.kinds()), events)
}

func TestReviewUndoneByUserIsInTheCheckpoint(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Review, "a.txt", edited)
	b.decide(p, reject(p.Files[0].Hunks[0].ID))
	b.undo()
	equal(t, "everything undone", b.disk("a.txt"), ten)
}

func TestCommandsAreNotCovered(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten, "c.txt": ten})
	b.turn("t1", "a.txt", edited)
	b.Stamp("s", b.read("b.txt"), true)
	c := b.BeginCommand("s", "t1")
	must(t, os.WriteFile(b.path("b.txt"), []byte("changed by a command\n"), 0o644))
	must(t, os.WriteFile(b.path("made.txt"), []byte("made\n"), 0o644))
	b.WatchedFilesChanged([]FileEvent{{URI: b.uri("made.txt")}, {URI: "file:///etc/passwd"}})
	equal(t, "noticed", strings.Join(c.End(), " "), "b.txt made.txt")
	equal(t, "named", strings.Join(b.Checkpoints("s")[0].NotCovered, " "), "b.txt made.txt")
	b.undo()
	equal(t, "restored", b.disk("a.txt"), ten)
	equal(t, "left", b.disk("b.txt"), "changed by a command\n")
}

// TestLongCommand runs a command over several turns, during which the user accepts edits, types and
// saves.
func TestLongCommand(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten, "open.txt": ten})
	for _, name := range []string{"a.txt", "b.txt", "open.txt"} {
		b.Stamp("s", b.read(name), true)
	}
	b.ed.open(b.uri("open.txt"), ten)
	c := b.BeginCommand("s", "t1")
	p := b.propose(Ask, "a.txt", edited)
	b.decide(p, accept("*"))
	b.ed.type_(b.uri("open.txt"), 0, 0, "typed\n")
	b.ed.save(b.uri("open.txt"))
	equal(t, "before the command changed a file", strings.Join(c.Changed(), " "), "")
	must(t, os.WriteFile(b.path("b.txt"), []byte("by the command\n"), 0o644))
	equal(t, "while it runs", strings.Join(c.Changed(), " "), "b.txt")
	b.turn("t2", "a.txt", strings.ReplaceAll(edited, "e", "E"))
	must(t, os.WriteFile(b.path("open.txt"), []byte("over what was saved\n"), 0o644))
	equal(t, "noticed", strings.Join(c.End(), " "), "b.txt open.txt")
	list := b.Checkpoints("s")
	equal(t, "checkpoints", len(list), 2)
	equal(t, "the newest one names them", strings.Join(list[0].NotCovered, " "), "b.txt open.txt")
	equal(t, "the others do not", len(list[1].NotCovered), 0)
}

// TestChattyWatcher checks that the memory used for a long-running command depends on the number of
// files that it changes, and not on the number of changes.
func TestChattyWatcher(t *testing.T) {
	b := newBench(t, map[string]string{"log.txt": ten})
	c := b.BeginCommand("s", "t1")
	for range 100 {
		b.WatchedFilesChanged([]FileEvent{{URI: b.uri("log.txt")}})
	}
	equal(t, "remembered", len(c.watched), 1)
	equal(t, "noticed", strings.Join(c.End(), " "), "log.txt")
}

func TestCollectGarbage(t *testing.T) {
	const age = 90 * 24 * time.Hour
	now := time.Now()
	b := newBench(t, map[string]string{"a.txt": ten}, func(o *Options, _ *fakeEditor) {
		o.Now = func() time.Time { return now }
	})
	b.KeepCheckpoints(Retention{MaxAge: age})
	b.turn("t1", "a.txt", edited)
	b.wg.Wait() // wait for the garbage collection that the first edit starts
	now = now.Add(age / 2)
	b.turn("t2", "a.txt", strings.ReplaceAll(edited, "e", "E"))
	blobs := func() int {
		names, err := filepath.Glob(filepath.Join(b.opt.StateDir, "blobs", "*", "*"))
		must(t, err)
		return len(names)
	}
	equal(t, "contents", blobs(), 3)
	b.checkpoints.Collect(now.Add(age/2 + time.Minute))
	equal(t, "the old checkpoint is removed", len(b.Checkpoints("s")), 1)
	equal(t, "and its content", blobs(), 2)
	r := b.undo()
	equal(t, "the newer checkpoint works", len(r.Conflicts), 0)
	equal(t, "text", b.disk("a.txt"), edited)
}

// TestCollectGarbageBySize checks that the newest checkpoints that fit into the size limit are
// kept.
func TestCollectGarbageBySize(t *testing.T) {
	now := time.Now()
	b := newBench(t, map[string]string{"a.txt": ten}, func(o *Options, _ *fakeEditor) {
		o.Now = func() time.Time { return now }
	})
	for i, text := range []string{edited, ten + "more\n", edited + "end\n"} {
		b.wg.Wait()
		now = now.Add(time.Minute)
		b.turn(fmt.Sprint("t", i), "a.txt", text)
	}
	b.wg.Wait()
	b.checkpoints.Collect(now.Add(1000 * 24 * time.Hour))
	equal(t, "no age limit applies", len(b.Checkpoints("s")), 3)
	b.KeepCheckpoints(Retention{MaxBytes: 150})
	b.wg.Wait()
	equal(t, "the setting takes effect immediately", len(b.Checkpoints("s")), 1)
	b.checkpoints.Collect(now.Add(2 * time.Hour))
	equal(t, "the newest fits", len(b.Checkpoints("s")), 1)
	equal(t, "it works", len(b.undo().Conflicts), 0)
	equal(t, "text", b.disk("a.txt"), ten+"more\n")
}

func TestStateDirThatCannotBeWritten(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten},
		func(o *Options, _ *fakeEditor) { o.StateDir = "/dev/null/state" })
	p := b.propose(Auto, "a.txt", edited)
	equal(t, "state", p.State, StateConflict)
	equal(t, "nothing is changed that could not be undone", b.disk("a.txt"), ten)
}

func TestDiskThatCannotBeWritten(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten})
	files.AtStep = func(at string) {
		if at == "temp created" {
			names, _ := filepath.Glob(b.path(".b.txt.*"))
			if len(names) > 0 {
				// Remove the second file after its temporary file is created, so that it cannot be
				// replaced.
				must(t, os.Remove(b.path("b.txt")))
			}
		}
	}
	defer func() { files.AtStep = func(string) {} }()
	p := b.propose(Ask, "a.txt", edited, "b.txt", edited)
	b.decide(p, accept("*"))
	names, _ := filepath.Glob(b.path(".*"))
	equal(t, "no temporary file is left", len(names), 0)
}

func TestAnswerPrecedesEvents(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	before, after := len(b.kinds()), -1
	_, err := b.Decide(context.Background(),
		DecideRequest{ProposalID: p.ID, Decisions: []Decision{accept("*")},
			Answer: func(r DecideResult) {
				after = len(b.kinds())
				equal(t, "state in the answer", r.Proposal.State, StateApplied)
			}})
	must(t, err)
	equal(t, "events before the answer", after, before)
	equal(t, "events", len(b.kinds()), before+1)
}

func TestDropSession(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Collect, "a.txt", edited)
	b.turn("t1", "a.txt", ten+"more\n")
	b.DropSession("s")
	if _, _, err := b.Get(p.ID); !errors.Is(err, ErrUnknownProposal) {
		t.Fatal(err)
	}
	equal(t, "checkpoints", len(b.Checkpoints("s")), 0)
	names, _ := filepath.Glob(filepath.Join(b.opt.StateDir, "*", "s"))
	equal(t, "stored", len(names), 0)
}

// TestUndoOfSome checks that a file that cannot be restored is reported, and that the other files
// are still restored.
func TestUndoOfSome(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten, "c.txt": ten})
	b.propose(Auto, "a.txt", edited, "b.txt", edited)
	must(t, os.Chmod(b.path("b.txt"), 0o444))
	r := b.undo()
	equal(t, "conflicts", fmt.Sprint(r.Conflicts),
		fmt.Sprintf("[{%s changing b.txt: it is read-only}]", b.uri("b.txt")))
	equal(t, "a.txt", b.disk("a.txt"), ten)
	equal(t, "b.txt", b.disk("b.txt"), edited)
	b.propose(Auto, "c.txt", edited)
	must(t, os.Chmod(b.path("c.txt"), 0o444))
	equal(t, "conflicts of all", len(b.undo().Conflicts), 1)
}

// TestUndoOfARenameByHalf checks that if the old name of a renamed file cannot be restored, the
// file keeps its new name. Otherwise, its text would be missing from the workspace.
func TestUndoOfARenameByHalf(t *testing.T) {
	for name, taken := range map[string]func(b *bench){
		"a folder has the name": func(b *bench) {
			must(t,
				os.Mkdir(b.path("d/a.txt"), 0o755))
		},
		"a folder has the name of one that was renamed again": func(b *bench) {
			must(t,
				os.Mkdir(b.path("d/a.txt"), 0o755))
		},
		"a file stands where it lay": func(b *bench) {
			must(t,
				os.Remove(b.path("d")))
			must(t, os.WriteFile(b.path("d"), nil, 0o644))
		},
		"you made another of the name": func(b *bench) {
			must(t,
				os.WriteFile(b.path("d/a.txt"), []byte("mine\n"), 0o644))
		},
		"a folder is made meanwhile": func(b *bench) {
			files.AtStep = func(at string) {
				if at == "intent kept" {
					must(t, os.MkdirAll(b.path("d/a.txt"), 0o755))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { files.AtStep = func(string) {} }()
			b := newBench(t, map[string]string{"d/a.txt": ten})
			_, err := b.change(Auto, Change{Op: Rename, Ref: b.ref("d/a.txt"),
				NewRef: b.ref("b.txt"), Data: []byte(edited)})
			must(t, err)
			now := "b.txt"
			if strings.HasSuffix(name, "again") {
				now = "c.txt"
				_, err = b.change(Auto, Change{Op: Rename, Ref: b.ref("b.txt"), NewRef: b.ref(now)})
				must(t, err)
			}
			taken(b)
			r := b.undo()
			equal(t, "changes", len(r.Changes), 0)
			equal(t, "conflicts", len(r.Conflicts), 2)
			equal(t, now, b.disk(now), edited)
		})
	}
}

// TestRedoOfARenameByHalf checks that if an undo restored the old name of a file and the new name
// is no longer available, the file keeps the old name, even after several undos and redos.
func TestRedoOfARenameByHalf(t *testing.T) {
	for rounds := range 3 {
		for _, again := range []bool{false, true} {
			b := newBench(t, map[string]string{"d/a.txt": ten})
			_, err := b.change(Auto, Change{Op: Rename, Ref: b.ref("d/a.txt"),
				NewRef: b.ref("b.txt"), Data: []byte(edited)})
			must(t, err)
			renamed := "b.txt"
			if again {
				renamed = "c.txt"
				_, err = b.change(Auto, Change{Op: Rename, Ref: b.ref("b.txt"),
					NewRef: b.ref(renamed)})
				must(t, err)
			}
			now, then, text := renamed, "d/a.txt", ten
			undo := b.undo()
			for range rounds {
				equal(t, "undone", b.disk(then), text)
				undo, err = b.Restore(t.Context(), undo.UndoCheckpointID)
				must(t, err)
				now, then = then, now
				if text = ten; then == renamed {
					text = edited
				}
			}
			equal(t, "undone", b.disk(then), text)
			must(t, os.Mkdir(b.path(now), 0o755))
			r, err := b.Restore(t.Context(), undo.UndoCheckpointID)
			must(t, err)
			equal(t, "changes", len(r.Changes), 0)
			equal(t, "conflicts", len(r.Conflicts), 2)
			equal(t, then, b.disk(then), text)
		}
	}
}
