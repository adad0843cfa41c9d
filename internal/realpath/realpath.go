// Package realpath resolves the symbolic links of a path, like filepath.EvalSymlinks. On Linux, a
// path without links, which is the usual case, needs only one lookup by the kernel. This matters
// because the agent resolves a path several times while a tool accesses the file. A link may appear
// at any time.
package realpath

import "path/filepath"

// Eval returns a path without symbolic links. The result is absolute if path is absolute. If the
// path does not exist, errors.Is(err, fs.ErrNotExist) is true for the error. Eval stores nothing
// between calls and is safe for concurrent use.
func Eval(path string) (string, error) {
	if filepath.IsAbs(path) && noLinks(path) {
		return filepath.Clean(path), nil
	}
	return filepath.EvalSymlinks(path)
}
