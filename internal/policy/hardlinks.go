package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// SecretIn reports whether a file usually contains secrets, or is another hard link to such a file
// in the roots.
func SecretIn(roots []string, path string) bool {
	return Secret(path) || linkedSecret(roots, path) != ""
}

// maxSearched bounds how many files are examined to find the other names of one file.
const maxSearched = 50_000

var errSearched = errors.New("too many files to search")

// linkedSecret returns the secret file in the roots to which a path is a hard link, or "" if there
// is none. If there are too many files to search, it returns the path itself. It skips installed
// packages, because package managers create many hard links.
func linkedSecret(roots []string, path string) string {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || hardLinks(st) < 2 || installed(path) {
		return ""
	}
	found, searched := "", 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
			searched++
			switch {
			case searched > maxSearched:
				return errSearched
			case err != nil:
				return nil // files that the user cannot read are skipped
			case e.IsDir() && skipsLinks(e.Name()):
				return fs.SkipDir
			case !e.Type().IsRegular() || !Secret(p):
				return nil
			}
			if other, err := e.Info(); err == nil && os.SameFile(st, other) {
				found = p
				return fs.SkipAll
			}
			return nil
		})
		if errors.Is(err, errSearched) {
			return path // the path may be a hard link to a secret file
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// packageFolders contain installed packages.
var packageFolders = words{list: "node_modules site-packages"}

func skipsLinks(folder string) bool { return folder == ".git" || packageFolders.has(folder) }

func installed(path string) bool {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if packageFolders.has(filepath.Base(dir)) {
			return true
		}
	}
	return false
}
