package workspace

import "github.com/agent-lsp/agent-lsp/internal/workspace/files"

// sessionDir is the folder of a session's state.
func (w *Workspace) sessionDir(kind, sessionID string) string {
	return files.SessionDir(w.opt.StateDir, kind, sessionID)
}
