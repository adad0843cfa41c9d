// Package realpath resolves the symbolic links of a path, as filepath.EvalSymlinks does. On Linux
// it needs one system call for a path without links, which is nearly every path. The agent resolves
// each file that a tool touches several times, because a link may appear at any moment.
package realpath

import "path/filepath"

// Eval returns an absolute path without symbolic links. What does not exist is an error for which
// errors.Is(err, fs.ErrNotExist) holds. It keeps nothing between calls; safe for concurrent use.
func Eval(path string) (string, error) {
	if filepath.IsAbs(path) && noLinks(path) {
		return filepath.Clean(path), nil
	}
	return filepath.EvalSymlinks(path)
}
