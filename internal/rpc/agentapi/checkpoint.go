package agentapi

import (
	"context"
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

func (a Checkpoints) List(
	ctx context.Context,
	p *wire.SessionParams,
) (wire.CheckpointListResult, error) {
	if _, err := a.get(ctx, p.SessionID); err != nil {
		return wire.CheckpointListResult{}, err
	}
	list := a.Core().Workspace.Checkpoints(p.SessionID)
	out := wire.CheckpointListResult{Checkpoints: make([]wire.Checkpoint, 0, len(list))}
	for _, c := range list {
		out.Checkpoints = append(out.Checkpoints, wire.Checkpoint{
			CheckpointID: c.ID, TurnID: c.TurnID, MessageID: c.MessageID, CreatedAt: c.CreatedAt,
			Files: NonNil(c.Files), Stat: wire.Stat(c.Stat),
		})
	}
	return out, nil
}

func (a Checkpoints) Diff(
	_ context.Context,
	p *wire.CheckpointParams,
) (wire.CheckpointDiffResult, error) {
	if p.CheckpointID == "" {
		return wire.CheckpointDiffResult{}, Invalid("checkpointId", "is missing")
	}
	diff, err := a.Core().Workspace.CheckpointDiff(p.CheckpointID)
	return wire.CheckpointDiffResult{Diff: diff}, err
}

// Restore reverts files, the conversation, or both. The conversation returns to the state before
// the checkpoint's prompt. Later messages stay in the log.
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
	sessionID, messageID, err := a.Core().Workspace.CheckpointSession(p.CheckpointID)
	if err != nil {
		return out, err
	}
	l, err := a.writable(ctx, sessionID)
	if err != nil {
		return out, err
	}
	if conversation && l.Busy() {
		return out, agent.ErrNotIdle
	}
	a.holdFor(ctx, l.ID)
	if files {
		if err := a.restoreFiles(ctx, p.CheckpointID, &out); err != nil {
			return out, err
		}
	}
	if conversation {
		err = a.restoreConversation(ctx, l, messageID)
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

// restoreConversation shortens the history so that it ends before the message.
func (a *API) restoreConversation(ctx context.Context, l *host.Session, messageID string) error {
	through, found := "", false
	for _, m := range l.Engine.Messages() {
		if m.ID == messageID {
			found = true
			break
		}
		through = m.ID
	}
	if !found {
		return fmt.Errorf(
			"restoring the conversation: its message %s is no longer in the history",
			messageID,
		)
	}
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
