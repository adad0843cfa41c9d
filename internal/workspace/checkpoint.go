package workspace

import (
	"github.com/agent-lsp/agent-lsp/internal/workspace/checkpoint"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// turnOf returns the turn whose checkpoint includes a proposal's changes.
func turnOf(p *proposal) checkpoint.Turn {
	t := checkpoint.Turn{Session: p.session, ID: p.turn, Message: p.message}
	if p.kind == restoreProposal {
		t.Restore = p.id
	}
	return t
}

// keepBefore stores the current and the new content of the targets before they are changed.
func (w *Workspace) keepBefore(p *proposal, ts []*target) {
	ts = live(ts)
	changes := make([]*checkpoint.Change, len(ts))
	w.mu.Lock()
	for i, t := range ts {
		changes[i] = t.checkpointed()
	}
	w.mu.Unlock()
	for i, err := range w.checkpoints.Begin(turnOf(p), changes) {
		if err != nil {
			ts[i].end(failed, "the checkpoint could not be stored: "+err.Error())
		}
	}
}

// keepAfter drops the stored steps of changes that were not made.
func (w *Workspace) keepAfter(ts []*target) {
	var undone []*checkpoint.Change
	for _, t := range ts {
		if t.kept == nil || t.made() || t.status == conflict && t.c.op == Modify {
			continue
		}
		undone = append(undone, t.kept)
	}
	w.checkpoints.Revert(undone)
}

// keepLate stores the step of an apply that arrived after the workspace had abandoned it.
func (w *Workspace) keepLate(p *proposal, b *bufferWatch) {
	w.reportState(w.checkpoints.Add(turnOf(p), &checkpoint.Change{
		Ref: b.c.ref, Before: b.t.base, After: b.expected, Encoding: b.c.enc, Mode: b.c.mode,
	}))
}

// checkpointed returns the target's change in the form that the checkpoint stores. The caller holds
// mu.
func (t *target) checkpointed() *checkpoint.Change {
	if t.kept == nil {
		t.kept = &checkpoint.Change{}
	}
	c, k := t.c, t.kept
	h := t.wants[0].h
	k.Ref, k.Before, k.After = c.ref, t.base, t.after
	if c.op != Modify {
		k.Before, k.After = h.old, t.wants[0].text
		if c.applied {
			k.Before, k.After = h.new, h.old
		}
	}
	if c.op == Rename {
		k.Ref, k.NewRef = c.renaming()
	}
	k.Creates = c.op == Create && !c.applied || c.op == Delete && c.applied
	k.Deletes = c.op == Delete && !c.applied || c.op == Create && c.applied
	k.Encoding, k.Mode, k.From, k.Added, k.Removed = c.enc, c.mode, t.from, 0, 0
	for _, wt := range t.wants {
		k.Added += text.CountLines(wt.text)
		k.Removed += text.CountLines(wt.h.stands(c.applied))
	}
	return k
}

// reportState warns the user, once per problem, that state could not be saved.
func (w *Workspace) reportState(err error) {
	if err != nil {
		w.notice("error", "storing checkpoints and proposals: "+err.Error())
	}
}

// KeepCheckpoints sets how long checkpoints are kept. Expired checkpoints are removed immediately
// if files have already been changed, and otherwise when the first file changes.
func (w *Workspace) KeepCheckpoints(keep Retention) { w.checkpoints.Keep(keep) }

// Checkpoints lists a session's checkpoints of files, newest first.
func (w *Workspace) Checkpoints(sessionID string) []Checkpoint {
	return w.checkpoints.List(sessionID)
}

// AllCheckpoints also lists the checkpoints of restores that changed only the conversation.
func (w *Workspace) AllCheckpoints(sessionID string) []Checkpoint {
	return w.checkpoints.All(sessionID)
}

// Checkpoint returns one checkpoint.
func (w *Workspace) Checkpoint(id string) (Checkpoint, error) { return w.checkpoints.Get(id) }

// KeepConversation records that a restore also shortened a session's conversation. through is the
// ID of the last message before the restore. restoreID is the restore's own checkpoint, or "" if it
// changed no file. The returned checkpoint undoes the restore.
func (w *Workspace) KeepConversation(session, restoreID, through string) (string, error) {
	return w.checkpoints.KeepConversation(session, restoreID, through)
}

// FirstContents returns the contents of the files that a session changed, from before its first
// change, by path. A nil content means that the file did not exist. Files that are not UTF-8 are
// omitted.
func (w *Workspace) FirstContents(sessionID string) (map[string][]byte, error) {
	return w.checkpoints.FirstContents(sessionID)
}
