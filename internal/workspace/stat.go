package workspace

import (
	"io/fs"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// Stat returns the attributes of a path below its root. It does not follow a symbolic link.
func (w *Workspace) Stat(ref Ref) (fs.FileInfo, error) { return files.Stat(ref) }

// ReadDir lists a directory below its root.
func (w *Workspace) ReadDir(ref Ref) ([]fs.DirEntry, error) { return files.ReadDir(ref) }

// TrailOf returns the current trail of a file. The caller can compare it with a later one.
func (w *Workspace) TrailOf(ref Ref) (files.Trail, error) { return files.TrailOf(ref) }
