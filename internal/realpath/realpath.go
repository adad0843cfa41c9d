// Package realpath resolves the symbolic links of a path, like filepath.EvalSymlinks. On Linux, a
// path without links needs only one system call. This is the usual case. The agent resolves each
// file that a tool accesses several times, because a link may appear at any time.
package realpath

import "path/filepath"

// Eval returns an absolute path without symbolic links. If the path does not exist, errors.Is(err,
// fs.ErrNotExist) is true for the error. Eval stores nothing between calls and is safe for
// concurrent use.
func Eval(path string) (string, error) {
	if filepath.IsAbs(path) && noLinks(path) {
		return filepath.Clean(path), nil
	}
	return filepath.EvalSymlinks(path)
}
