package wire

import "time"

// CheckpointListParams names the session whose checkpoints are listed.
type CheckpointListParams struct {
	SessionID string `json:"sessionId"`
	// Conversation also lists the restores that changed only the conversation.
	Conversation bool `json:"conversation,omitzero"`
}

// CheckpointListResult lists checkpoints, newest first.
type CheckpointListResult struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// Checkpoint is a file state that can be restored.
type Checkpoint struct {
	CheckpointID string    `json:"checkpointId"`
	TurnID       string    `json:"turnId"`
	MessageID    string    `json:"messageId"`
	CreatedAt    time.Time `json:"createdAt"`
	Files        []string  `json:"files"` // URIs
	Stat         Stat      `json:"stat"`
	// Conversation reports whether the restore that created the checkpoint also restored the
	// conversation.
	Conversation bool `json:"conversation,omitzero"`
}

// CheckpointParams names a checkpoint.
type CheckpointParams struct {
	CheckpointID string `json:"checkpointId"`
}

// CheckpointDiffResult contains the changes that a restore of the checkpoint's files would revert.
type CheckpointDiffResult struct {
	// Diff is a unified diff from the files after a restore to the current files. Comment lines at
	// the end name the files that a restore would not change.
	Diff string `json:"diff"`
}

// CheckpointRestoreParams restores a checkpoint. Scope is files (default), conversation or both.
type CheckpointRestoreParams struct {
	CheckpointID string `json:"checkpointId"`
	Scope        string `json:"scope,omitzero" enum:"files,conversation,both"`
}

// CheckpointRestoreResult reports what was changed and how to undo it.
type CheckpointRestoreResult struct {
	Changes          []RestoreChange   `json:"changes"`
	Conflicts        []RestoreConflict `json:"conflicts"`
	UndoCheckpointID string            `json:"undoCheckpointId"`
}

// RestoreChange is one file that a restore changed.
type RestoreChange struct {
	URI string `json:"uri"`
	Op  string `json:"op" enum:"modify,create,delete,rename"`
}

// RestoreConflict is one file that a restore did not change.
type RestoreConflict struct {
	URI    string `json:"uri"`
	Reason string `json:"reason"`
}
