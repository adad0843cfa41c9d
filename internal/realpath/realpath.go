// Package realpath resolves the symbolic links of a path, like filepath.EvalSymlinks. On Linux, a
// path without links, which is the usual case, needs only one lookup by the kernel. This matters
// because the agent resolves a path several times while a tool accesses the file. A link may appear
// at any time.
package realpath

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Eval returns a path without symbolic links. The result is absolute if path is absolute. If the
// path does not exist, errors.Is(err, fs.ErrNotExist) is true for the error. Eval stores nothing
// between calls and is safe for concurrent use.
func Eval(path string) (string, error) {
	if filepath.IsAbs(path) {
		switch err := noLinks(path); {
		case err == nil:
			return filepath.Clean(path), nil
		case errors.Is(err, fs.ErrNotExist): // no link comes before the missing part
			return "", &fs.PathError{Op: "lstat", Path: path, Err: err}
		}
	}
	return filepath.EvalSymlinks(path)
}

// Plain reports whether no part of an absolute path is a symbolic link, as far as the path exists.
// It returns false if that cannot be checked in one call.
func Plain(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	err := noLinks(path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
