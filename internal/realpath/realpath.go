// Package realpath resolves the symbolic links of a path: filepath.EvalSymlinks, but on Linux with
// one question to the kernel where a path has none, which is nearly always. The agent asks several
// times for each file that a tool touches, because a link may come at any moment.
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
