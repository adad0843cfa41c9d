package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/workspace/checkpoint"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// RestoreResult describes what a restore changed and what it did not change.
type RestoreResult struct {
	Changes          []RestoreChange
	Conflicts        []RestoreConflict
	UndoCheckpointID string // checkpoint that undoes the restore; "" if nothing changed
	MessageID        string // ID of the checkpoint's prompt, for a branch of the conversation
}

// RestoreChange is one file that a restore changed.
type RestoreChange struct {
	URI string `json:"uri"`
	Op  Op     `json:"op"`
}

// RestoreConflict is one file that a restore did not change, and why.
type RestoreConflict struct {
	URI    string `json:"uri"`
	Reason string `json:"reason"`
}

// Restore reverts the agent's changes since the checkpoint's turn began, including that turn. It
// keeps the user's later changes by merging them. If the agent and the user changed the same lines,
// the file is not changed and is listed as a conflict. The restore itself also creates a
// checkpoint.
func (w *Workspace) Restore(ctx context.Context, checkpointID string) (RestoreResult, error) {
	undo, err := w.checkpoints.Undo(checkpointID)
	if err != nil {
		return RestoreResult{}, err
	}
	u := unwound{steps: map[string]*checkpoint.Step{}, from: undo.From, stuck: map[string]bool{}}
	res := RestoreResult{MessageID: undo.Message}
	var changes []Change
	for _, f := range undo.Files {
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
		if err := w.applyRestore(ctx, undo.Session, changes, u, &res); err != nil {
			return res, err
		}
	}
	if len(res.Changes) > 0 || len(res.Conflicts) == 0 {
		w.checkpoints.MarkUndone(undo, res.UndoCheckpointID)
	}
	if names := undo.NotCovered; len(names) > 0 {
		w.notice("warning", "changed by commands too, which no checkpoint covers: "+
			strings.Join(names, ", "))
	}
	return res, nil
}

// unwind computes the restored text of a file, or nil if the file is not restored. The error is a
// conflict.
func (w *Workspace) unwind(ctx context.Context, f *checkpoint.File) (*Change, error) {
	ref, err := w.Resolve("", orElse(f.Path, f.URI))
	if err != nil {
		return nil, err
	}
	if ref.Key != f.Key {
		return nil, errElsewhere
	}
	now := checkpoint.Content{}
	file, err := w.Read(ctx, ref)
	switch {
	case err == nil:
		now.Text = file.Text.Data
	case errors.Is(err, fs.ErrNotExist):
		now.Absent = true
	default:
		return nil, err
	}
	then, err := w.checkpoints.Unwind(now, f)
	if err != nil {
		return nil, err
	}
	return restoreChange(ref, file, now, then), nil
}

// errElsewhere is the conflict of a file in a folder that was replaced by a link.
var errElsewhere = errors.New("its path now leads to another file")

func restoreChange(ref Ref, file *File, now, then checkpoint.Content) *Change {
	switch {
	case now.Absent == then.Absent && bytes.Equal(now.Text, then.Text):
		return nil
	case now.Absent:
		return &Change{Op: Create, Ref: ref, Data: then.Text}
	case then.Absent && ref.IsFile():
		return &Change{Op: Delete, Ref: ref, Base: file.SHA256}
	}
	return &Change{Op: Modify, Ref: ref, Data: then.Text, Base: file.SHA256}
}

// unwound describes the files of a restore. The keys of its maps are the keys of the files.
type unwound struct {
	steps map[string]*checkpoint.Step // the first step for each file
	from  map[string]string           // the old names of renamed files
	stuck map[string]bool             // files that are not restored
}

// refusal is a file that a restore cannot change, and why.
type refusal struct {
	ref    Ref
	reason string
}

// applyRestore makes the changes as one silent proposal, which has its own checkpoint.
func (w *Workspace) applyRestore(ctx context.Context, session string, changes []Change, u unwound,
	res *RestoreResult) error {
	req := ProposeRequest{SessionID: session, Title: "restore", Policy: Auto, Changes: changes}
	p := newProposal(req, w)
	p.id, p.kind = checkpoint.NewID(), restoreProposal
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
	targets := u.withOldNames(p.targets(func(_ *change, h *hunk) (want, bool) {
		return want{h,
			h.new}, true
	}), refuse)
	err = w.carryOut(ctx, p, targets)
	for _, t := range targets {
		switch {
		case err != nil:
		case !t.made():
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
	w.mu.Unlock()
	w.deliver() // the restore's effect on other proposals
	return err
}

// keepsNewName is the reason why a renamed file keeps its new name. Without this name, the
// workspace would no longer contain the file's text.
const keepsNewName = "its old name could not be restored; it keeps this one"

// withOldNames orders the targets so that a renamed file's new name is removed only after the old
// name exists again. If the old name cannot be restored, the new name is kept.
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

// oldName returns the first name of a file that the restore affects, or "" if there is none.
func (u unwound) oldName(key string, byKey map[string]*target) string {
	old := u.from[key]
	for range u.from { // a limit, because names may form a cycle
		if next := u.from[old]; next != "" && next != key && byKey[old] == nil && !u.stuck[old] {
			old = next
		}
	}
	return old
}
