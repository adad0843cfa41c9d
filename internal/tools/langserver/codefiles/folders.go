package codefiles

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// packages returns the folders of installed packages that contain a folder, from the outermost to
// the innermost. The search of the workspace skips their contents, but a server that works in such
// a folder runs code from it. The names are relative to top and use slashes.
func packages(top, folder string) (out []string) {
	rel, err := filepath.Rel(top, folder)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	names := strings.Split(filepath.ToSlash(rel), "/")
	for i := 1; i < len(names); i++ {
		if names[i-1] == "node_modules" {
			out = append(out, strings.Join(names[:i+1], "/"))
		}
	}
	return out
}

// lookAbove examines the folders above a workspace folder, and returns the outermost one with what
// was found below it. It stops at the home folder, at the folders that contain it, and at the top
// of the file system, because their files belong to the user or to the system.
func lookAbove(top string) (up string, w walk) {
	home, _ := os.UserHomeDir()
	var folders []string
	for dir := filepath.Dir(top); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if rel, err := filepath.Rel(dir, home); home != "" && err == nil && filepath.IsLocal(rel) {
			break
		}
		folders, up = append(folders, dir), dir
	}
	names := slices.Sorted(maps.Keys(codeFiles))
	names = append(names, "node_modules", ".yarn/sdks", ".vscode/pnpify", ".cargo/config",
		".cargo/config.toml")
	for _, dir := range folders {
		for _, name := range names {
			full := filepath.Join(dir, filepath.FromSlash(name))
			info, err := os.Lstat(full)
			if err != nil {
				continue
			}
			if rel, err := filepath.Rel(up, full); err == nil {
				_ = w.look(full, filepath.ToSlash(rel), fs.FileInfoToDirEntry(info))
			}
		}
	}
	return up, w
}
