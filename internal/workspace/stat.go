package workspace

import (
	"io/fs"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// Stat returns the attributes of a path below its root. It does not follow a symbolic link.
func (w *Workspace) Stat(ref Ref) (fs.FileInfo, error) { return files.Stat(ref) }

// ReadDir lists a directory below its root.
func (w *Workspace) ReadDir(ref Ref) ([]fs.DirEntry, error) { return files.ReadDir(ref) }
