package launcher

import (
	"os"
	"path/filepath"
	"strings"
)

// mostWorktrees bounds the number of folders in which GitFolders looks for a .git file.
const mostWorktrees = 1000

// GitFolders returns the folders below a root in which git stores a repository under a name other
// than .git. The paths are relative to the root and contain slashes as separators. A .git file in
// the root or in one of its folders names such a folder, for example a bare repository next to its
// worktrees. Like .git, these folders contain files that start programs. The root's path must not
// contain links.
func GitFolders(root string) []string {
	dirs := []string{root}
	if fi, err := os.Lstat(filepath.Join(root, ".git")); err == nil && fi.IsDir() {
		return nil
	}
	if f, err := os.Open(root); err == nil {
		entries, _ := f.ReadDir(mostWorktrees)
		f.Close()
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, filepath.Join(root, e.Name()))
			}
		}
	}
	var out []string
	for _, dir := range dirs {
		git := namedBy(filepath.Join(dir, ".git"), "gitdir: ", dir)
		if git == "" {
			continue
		}
		for _, folder := range []string{git, namedBy(filepath.Join(git, "commondir"), "", git)} {
			if real, err := filepath.EvalSymlinks(folder); err == nil {
				folder = real
			}
			rel, err := filepath.Rel(root, folder)
			if folder != "" && err == nil && filepath.IsLocal(rel) && rel != "." {
				out = append(out, filepath.ToSlash(rel))
			}
		}
	}
	return out
}

// namedBy returns the path that a Git file contains after a prefix, or "" if there is none. A
// relative path starts at dir.
func namedBy(file, prefix, dir string) string {
	fi, err := os.Lstat(file)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 1<<16 {
		return ""
	}
	data, err := os.ReadFile(file)
	name, ok := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	if err != nil || !ok || name == "" {
		return ""
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return filepath.Clean(name)
}

// InGitFolder reports whether a path is in one of the folders that GitFolders returned. It ignores
// case, because some file systems do.
func InGitFolder(rel string, folders []string) bool {
	for _, f := range folders {
		if Below(Fold(rel), Fold(f)) {
			return true
		}
	}
	return false
}
