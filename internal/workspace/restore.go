package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// RestoreResult says what a restore changed and what it left alone.
type RestoreResult struct {
	Changes          []RestoreChange
	Conflicts        []RestoreConflict
	UndoCheckpointID string // restoring it takes the restore back; "" if nothing changed
	MessageID        string // of the checkpoint's prompt, for a branch of the conversation
}

// RestoreChange is one file that a restore changed.
type RestoreChange struct {
	URI string `json:"uri"`
	Op  Op     `json:"op"`
}

// RestoreConflict is one file that a restore left as it is, and why.
type RestoreConflict struct {
	URI    string `json:"uri"`
	Reason string `json:"reason"`
}

// fileState is a file's content on the way back; absent is no file.
type fileState struct {
	text   []byte
	absent bool
}

// Restore takes back what the agent did since the checkpoint's turn began, that turn
// included. What the user did since is merged; where both changed the same lines the file
// stays as it is and is listed. The restore is a checkpoint too.
func (w *Workspace) Restore(ctx context.Context, checkpointID string) (RestoreResult, error) {
	w.checkpoints.mu.Lock()
	l, at := w.findCheckpoint(checkpointID)
	if at < 0 {
		w.checkpoints.mu.Unlock()
		return RestoreResult{}, fmt.Errorf("restoring checkpoint %s: %w", checkpointID, ErrUnknownCheckpoint)
	}
	first := l.list[at]
	undo := slices.Clone(l.list[at:])
	logs := unwinding(undo)
	notCovered := notCoveredBy(undo)
	u := unwound{steps: map[string]*fileStep{}, from: renamedFrom(undo), stuck: map[string]bool{}}
	w.checkpoints.mu.Unlock()

	res := RestoreResult{MessageID: first.Message}
	var changes []Change
	for _, f := range logs {
		ch, err := w.unwind(ctx, f)
		if err != nil {
			u.stuck[f.Key] = true
			res.Conflicts = append(res.Conflicts, RestoreConflict{f.URI, err.Error()})
		} else if ch != nil {
			changes = append(changes, *ch)
			u.steps[ch.Ref.Key] = f.Steps[0]
		}
	}
	if len(changes) > 0 {
		if err := w.applyRestore(ctx, first, changes, u, &res); err != nil {
			return res, err
		}
	}
	if len(res.Changes) > 0 || len(res.Conflicts) == 0 {
		w.markUndone(undo, res.UndoCheckpointID)
	}
	if len(notCovered) > 0 {
		w.notice("warning", "changed by commands too, which no checkpoint covers: "+strings.Join(notCovered, ", "))
	}
	return res, nil
}

// notCoveredBy lists what commands changed in the turns that are taken back.
func notCoveredBy(undo []*checkpoint) (names []string) {
	for _, cp := range undo {
		names = append(names, cp.NotCovered...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unwinding collects each file's steps over the checkpoints, oldest first, without those
// that a later one took back exactly. Caller holds checkpoints.mu.
func unwinding(list []*checkpoint) []*fileLog {
	var out []*fileLog
	byKey := map[string]*fileLog{}
	for _, cp := range list {
		for _, f := range cp.Files {
			g := byKey[f.Key]
			if g == nil {
				g = &fileLog{Key: f.Key, URI: f.URI, Path: f.Path}
				byKey[f.Key] = g
				out = append(out, g)
			}
			for _, s := range f.Steps {
				c := *s
				if n := len(g.Steps); n > 0 && g.Steps[n-1].Pre == c.Post && g.Steps[n-1].Post == c.Pre {
					g.Steps = g.Steps[:n-1]
					continue
				}
				g.Steps = append(g.Steps, &c)
			}
		}
	}
	return slices.DeleteFunc(out, func(f *fileLog) bool { return len(f.Steps) == 0 })
}

// unwind computes what a file becomes; nil if it stays. The error is a conflict.
func (w *Workspace) unwind(ctx context.Context, f *fileLog) (*Change, error) {
	path := f.Path
	if path == "" {
		path = f.URI
	}
	ref, err := w.Resolve("", path)
	if err != nil {
		return nil, err
	}
	now := fileState{}
	file, err := w.Read(ctx, ref)
	switch {
	case err == nil:
		now.text = file.Text.Data
	case errors.Is(err, fs.ErrNotExist):
		now.absent = true
	default:
		return nil, err
	}
	then := now
	for _, s := range slices.Backward(f.Steps) {
		if then, err = w.undoStep(then, s); err != nil {
			return nil, err
		}
	}
	return restoreChange(ref, file, now, then), nil
}

func restoreChange(ref Ref, file *File, now, then fileState) *Change {
	switch {
	case now.absent == then.absent && bytes.Equal(now.text, then.text):
		return nil
	case now.absent:
		return &Change{Op: Create, Ref: ref, Data: then.text}
	case then.absent && ref.IsFile():
		return &Change{Op: Delete, Ref: ref, Base: file.SHA256}
	}
	return &Change{Op: Modify, Ref: ref, Data: then.text, Base: file.SHA256}
}

var (
	errUserChanged = errors.New("you changed the same lines since; it was left as it is")
	errUserDeleted = errors.New("you deleted it since; it was left so")
	errUserRemade  = errors.New("you made it anew since; it was left as it is")
	errUserAdded   = errors.New("the agent created it and you changed it since; it was not deleted")
)

// undoStep takes one step of the agent out of a state.
func (w *Workspace) undoStep(now fileState, s *fileStep) (fileState, error) {
	pre, err := w.content(s.Pre)
	if err != nil {
		return now, err
	}
	post, err := w.content(s.Post)
	if err != nil {
		return now, err
	}
	before, after := fileState{pre, s.Pre == ""}, fileState{post, s.Post == ""}
	switch {
	case now.same(after):
		return before, nil
	case now.same(before):
		return now, nil
	case now.absent:
		return now, errUserDeleted
	case after.absent:
		return now, errUserRemade
	case before.absent:
		return now, errUserAdded
	}
	merged, conflicts := edit.Merge3(post, now.text, pre)
	if len(conflicts) > 0 {
		return now, errUserChanged
	}
	return fileState{text: merged}, nil
}

func (a fileState) same(b fileState) bool { return a.absent == b.absent && bytes.Equal(a.text, b.text) }

// unwound is what a restore knows of its files, by their keys.
type unwound struct {
	steps map[string]*fileStep // the first of each
	from  map[string]string    // the old names of renamed files
	stuck map[string]bool      // those that are not brought back
}

// renamedFrom finds the renames of checkpoints. Where a file was renamed again, its first name is found step by step.
// Caller holds checkpoints.mu.
func renamedFrom(undo []*checkpoint) map[string]string {
	from := map[string]string{}
	for _, cp := range undo {
		for _, f := range cp.Files {
			for _, s := range f.Steps {
				if s.From != "" {
					from[f.Key] = s.From
				}
			}
		}
	}
	return from
}

// refusal is a file of a restore that cannot be changed, and why.
type refusal struct {
	ref    Ref
	reason string
}

// applyRestore makes the changes as one silent proposal, which keeps its own checkpoint.
func (w *Workspace) applyRestore(ctx context.Context, first *checkpoint, changes []Change, u unwound, res *RestoreResult) error {
	req := ProposeRequest{SessionID: first.Session, Title: "restore", Policy: Auto, Changes: changes}
	p := newProposal(req, w)
	p.id, p.restore, p.unformatted = newID("c"), true, true
	p, err := w.draft(ctx, req, p)
	if err != nil {
		return err
	}
	refuse := func(ref Ref, reason string) {
		u.stuck[ref.Key] = true
		res.Conflicts = append(res.Conflicts, RestoreConflict{ref.URI, reason})
	}
	for _, r := range p.refused {
		refuse(r.ref, r.reason)
	}
	for _, c := range p.changes {
		if s := u.steps[c.ref.Key]; c.op == Create && s != nil {
			c.enc, c.mode = edit.Text{BOM: s.BOM, Encoding: s.Encoding}, s.Mode
		}
	}
	targets := u.withOldNames(p.targets(func(_ *change, h *hunk) (want, bool) { return want{h, h.new}, true }), refuse)
	err = w.carryOut(ctx, p, targets)
	for _, t := range targets {
		switch {
		case err != nil:
		case t.status != done:
			res.Conflicts = append(res.Conflicts, RestoreConflict{t.c.ref.URI, t.reason})
		default:
			res.Changes = append(res.Changes, RestoreChange{t.c.ref.URI, t.c.op})
			res.UndoCheckpointID = p.id
		}
	}
	w.mu.Lock()
	for _, c := range p.changes {
		w.untrack(c)
	}
	delete(w.proposals, p.id)
	w.mu.Unlock()
	w.deliver() // what it did to other proposals
	return err
}

// keepsNewName is why a renamed file keeps its new name: else its text would be nowhere in the workspace.
const keepsNewName = "its old name could not be brought back; it keeps this one"

// withOldNames lets a renamed file's new name go only once its old one is back; where that is known not to come, it stays.
func (u unwound) withOldNames(targets []*target, refuse func(Ref, string)) (ordered []*target) {
	byKey := map[string]*target{}
	for _, t := range targets {
		byKey[t.c.ref.Key] = t
	}
	var renamed []*target
	for _, t := range targets {
		old := u.oldName(t.c.ref.Key, byKey)
		switch back := byKey[old]; {
		case t.c.op == Delete && u.stuck[old]:
			refuse(t.c.ref, keepsNewName)
		case t.c.op == Delete && back != nil && back.c.op == Create:
			t.needs, back.from = back, t.c.ref.Key
			renamed = append(renamed, t)
		default:
			ordered = append(ordered, t)
		}
	}
	return append(ordered, renamed...)
}

// oldName is the name that a file had first and that the restore is about, "" where there is none.
func (u unwound) oldName(key string, byKey map[string]*target) string {
	old := u.from[key]
	for range u.from { // at most: names may go round
		if next := u.from[old]; next != "" && next != key && byKey[old] == nil && !u.stuck[old] {
			old = next
		}
	}
	return old
}

// markUndone notes which turns a restore took back and which it brought back.
func (w *Workspace) markUndone(list []*checkpoint, restoreID string) {
	w.checkpoints.mu.Lock()
	defer w.checkpoints.mu.Unlock()
	was := map[*checkpoint]bool{}
	l := w.log(list[0].Session)
	for _, cp := range l.list {
		was[cp] = cp.Undone
	}
	for _, cp := range slices.Backward(list) {
		cp.Undone = true
		for _, o := range l.list {
			if slices.Contains(cp.Undid, o.ID) {
				o.Undone = false
			} else if slices.Contains(cp.Redid, o.ID) {
				o.Undone = true
			}
		}
	}
	var undid, redid []string
	for _, cp := range l.list {
		switch {
		case cp.Undone && !was[cp]:
			undid = append(undid, cp.ID)
		case !cp.Undone && was[cp]:
			redid = append(redid, cp.ID)
		default:
			continue
		}
		w.reportState(w.saveCheckpoint(cp))
	}
	for _, cp := range l.list {
		if cp.ID == restoreID && restoreID != "" {
			cp.Undid, cp.Redid = undid, redid
			w.reportState(w.saveCheckpoint(cp))
		}
	}
}
