package agentapi

import (
	"context"
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

func (a Checkpoints) List(
	ctx context.Context,
	p *wire.CheckpointListParams,
) (wire.CheckpointListResult, error) {
	if _, err := a.get(ctx, p.SessionID); err != nil {
		return wire.CheckpointListResult{}, err
	}
	list := a.Core().Workspace.Checkpoints(p.SessionID)
	if p.Conversation {
		list = a.Core().Workspace.AllCheckpoints(p.SessionID)
	}
	out := wire.CheckpointListResult{Checkpoints: make([]wire.Checkpoint, 0, len(list))}
	for _, c := range list {
		out.Checkpoints = append(out.Checkpoints, wire.Checkpoint{
			CheckpointID: c.ID, TurnID: c.TurnID, MessageID: c.MessageID, CreatedAt: c.CreatedAt,
			Files: NonNil(c.Files), Stat: wire.Stat(c.Stat), Conversation: c.Through != nil,
		})
	}
	return out, nil
}

func (a Checkpoints) Diff(
	ctx context.Context,
	p *wire.CheckpointParams,
) (wire.CheckpointDiffResult, error) {
	if p.CheckpointID == "" {
		return wire.CheckpointDiffResult{}, Invalid("checkpointId", "is missing")
	}
	diff, err := a.Core().Workspace.CheckpointDiff(ctx, p.CheckpointID)
	return wire.CheckpointDiffResult{Diff: diff}, err
}

// Restore reverts files, the conversation, or both. The conversation returns to the state before
// the checkpoint's prompt or before the restore that the checkpoint undoes. Later messages stay in
// the log.
func (a Checkpoints) Restore(
	ctx context.Context,
	p *wire.CheckpointRestoreParams,
) (wire.CheckpointRestoreResult, error) {
	out := wire.CheckpointRestoreResult{
		Changes:   []wire.RestoreChange{},
		Conflicts: []wire.RestoreConflict{},
	}
	if p.CheckpointID == "" {
		return out, Invalid("checkpointId", "is missing")
	}
	files, conversation := true, false
	switch p.Scope {
	case "", "files":
	case "conversation":
		files, conversation = false, true
	case "both":
		conversation = true
	default:
		return out, Invalid("scope", "%q is not one of files, conversation, both", p.Scope)
	}
	cp, err := a.Core().Workspace.Checkpoint(p.CheckpointID)
	if err != nil {
		return out, err
	}
	l, err := a.writable(ctx, cp.SessionID)
	if err != nil {
		return out, err
	}
	if conversation && l.Busy() {
		return out, agent.ErrNotIdle
	}
	through := ""
	if conversation {
		if through, err = endBefore(l, cp); err != nil {
			return out, err
		}
	}
	a.holdFor(ctx, l.ID)
	if files {
		if err := a.restoreFiles(ctx, p.CheckpointID, &out); err != nil {
			return out, err
		}
	}
	if conversation {
		err = a.restoreConversation(ctx, l, through, &out)
	}
	return out, err
}

func (a *API) restoreFiles(
	ctx context.Context,
	id string,
	out *wire.CheckpointRestoreResult,
) error {
	r, err := a.Core().Workspace.Restore(ctx, id)
	if err != nil {
		return err
	}
	for _, c := range r.Changes {
		out.Changes = append(out.Changes, wire.RestoreChange{URI: c.URI, Op: string(c.Op)})
	}
	for _, c := range r.Conflicts {
		out.Conflicts = append(out.Conflicts, wire.RestoreConflict(c))
	}
	out.UndoCheckpointID = r.UndoCheckpointID
	return nil
}

// endBefore returns the ID of the last message in the conversation that a checkpoint restores. If
// the conversation is empty, it returns "".
func endBefore(l *host.Session, cp workspace.Checkpoint) (string, error) {
	if cp.Through != nil {
		return *cp.Through, nil
	}
	through := ""
	for _, m := range l.Engine.Messages() {
		if m.ID == cp.MessageID {
			return through, nil
		}
		through = m.ID
	}
	return "", fmt.Errorf(
		"restoring the conversation: its message %s is no longer in the history",
		cp.MessageID,
	)
}

// restoreConversation ends the history after the message with the ID through.
func (a *API) restoreConversation(
	ctx context.Context,
	l *host.Session,
	through string,
	out *wire.CheckpointRestoreResult,
) error {
	last := ""
	if msgs := l.Engine.Messages(); len(msgs) > 0 {
		last = msgs[len(msgs)-1].ID
	}
	id, err := a.Core().Workspace.KeepConversation(l.ID, out.UndoCheckpointID, last)
	if err != nil {
		return err
	}
	out.UndoCheckpointID = id
	if err := l.Store.BranchTo(through); err != nil {
		return err
	}
	fresh, err := a.Host().Reload(ctx, l)
	if err != nil {
		return err
	}
	fresh.TellState()
	return nil
}
