package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	plan, err := w.planRestore(ctx, checkpointID)
	if err != nil {
		return RestoreResult{}, err
	}
	undo := plan.undo
	res := RestoreResult{MessageID: undo.Message}
	if len(plan.changes) > 0 {
		err = w.applyRestore(ctx, plan, &res)
	}
	if res.Conflicts = plan.conflicts; err != nil {
		return res, err
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

// CheckpointDiff returns the changes that a restore of the checkpoint would revert. The unified
// diff leads from the files that the restore would produce to the current files, including unsaved
// buffers. Comment lines at the end name the files that the restore would not change, and the files
// that commands changed.
func (w *Workspace) CheckpointDiff(ctx context.Context, checkpointID string) (string, error) {
	plan, err := w.planRestore(ctx, checkpointID)
	if err != nil {
		return "", err
	}
	req, p := w.restoring(plan)
	if err := w.compute(ctx, req, p); err != nil {
		return "", err
	}
	targets := plan.targets(p)
	p.changes = nil
	for _, t := range targets {
		p.changes = append(p.changes, t.c)
	}
	var diff strings.Builder
	for _, s := range w.sides(p) {
		back := side{oldName: s.newName, newName: s.oldName, old: s.text(), new: s.old}
		diff.WriteString(orElse(unified([]side{back}), back.header()))
	}
	for _, c := range plan.conflicts {
		name := c.URI
		if ref, err := w.Resolve("", c.URI); err == nil {
			name = ref.Rel
		}
		fmt.Fprintf(&diff, "# not restored: %s: %s\n", name, c.Reason)
	}
	for _, name := range plan.undo.NotCovered {
		fmt.Fprintf(&diff, "# changed by a command, not covered: %s\n", name)
	}
	return diff.String(), nil
}

// header returns the lines that name a file in a diff. They are the whole diff of an empty file.
func (s *side) header() string {
	return fmt.Sprintf("--- %s\n+++ %s\n", edit.HeaderName(s.oldName), edit.HeaderName(s.newName))
}

// restorePlan describes what a restore changes. The keys of its maps are the keys of the files.
type restorePlan struct {
	undo      *checkpoint.Undo
	changes   []Change
	conflicts []RestoreConflict
	steps     map[string]*checkpoint.Step // the first step for each changed file
	stuck     map[string]bool             // files that are not restored
}

// planRestore computes the restored text of each file of a checkpoint.
func (w *Workspace) planRestore(ctx context.Context, checkpointID string) (*restorePlan, error) {
	undo, err := w.checkpoints.Undo(checkpointID)
	if err != nil {
		return nil, err
	}
	plan := &restorePlan{undo: undo, steps: map[string]*checkpoint.Step{},
		stuck: map[string]bool{}}
	for _, f := range undo.Files {
		ch, err := w.unwind(ctx, f)
		if err != nil {
			plan.refuse(f.Key, f.URI, err.Error())
		} else if ch != nil {
			plan.changes = append(plan.changes, *ch)
			plan.steps[ch.Ref.Key] = f.Steps[0]
		}
	}
	return plan, nil
}

// refuse records that a file is not restored, and why.
func (p *restorePlan) refuse(key, uri, reason string) {
	p.stuck[key] = true
	p.conflicts = append(p.conflicts, RestoreConflict{uri, reason})
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

// refusal is a file that a restore cannot change, and why.
type refusal struct {
	ref    Ref
	reason string
}

// restoring returns a plan's changes as one silent proposal, which has its own checkpoint.
func (w *Workspace) restoring(plan *restorePlan) (ProposeRequest, *proposal) {
	req := ProposeRequest{SessionID: plan.undo.Session, Title: "restore", Policy: Auto,
		Changes: plan.changes}
	p := newProposal(req, w)
	p.id, p.kind = checkpoint.NewID(), restoreProposal
	return req, p
}

// targets returns the changes that a restore makes, in the order in which it makes them.
func (p *restorePlan) targets(drafted *proposal) []*target {
	for _, r := range drafted.refused {
		p.refuse(r.ref.Key, r.ref.URI, r.reason)
	}
	for _, c := range drafted.changes {
		if s := p.steps[c.ref.Key]; c.op == Create && s != nil {
			c.enc, c.mode = edit.Text{BOM: s.BOM, Encoding: s.Encoding}, s.Mode
		}
	}
	return p.withOldNames(drafted.targets(func(_ *change, h *hunk) (want, bool) {
		return want{h, h.new}, true
	}))
}

func (w *Workspace) applyRestore(ctx context.Context, plan *restorePlan, res *RestoreResult) error {
	req, p := w.restoring(plan)
	p, err := w.draft(ctx, req, p)
	if err != nil {
		return err
	}
	targets := plan.targets(p)
	err = w.carryOut(ctx, p, targets)
	for _, t := range targets {
		switch {
		case err != nil:
		case !t.made():
			plan.refuse(t.c.ref.Key, t.c.ref.URI, t.reason)
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
func (p *restorePlan) withOldNames(targets []*target) (ordered []*target) {
	byKey := map[string]*target{}
	for _, t := range targets {
		byKey[t.c.ref.Key] = t
	}
	var renamed []*target
	for _, t := range targets {
		old := p.oldName(t.c.ref.Key, byKey)
		switch back := byKey[old]; {
		case t.c.op == Delete && p.stuck[old]:
			p.refuse(t.c.ref.Key, t.c.ref.URI, keepsNewName)
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
func (p *restorePlan) oldName(key string, byKey map[string]*target) string {
	from := p.undo.From
	old := from[key]
	for range from { // a limit, because names may form a cycle
		if next := from[old]; next != "" && next != key && byKey[old] == nil && !p.stuck[old] {
			old = next
		}
	}
	return old
}
