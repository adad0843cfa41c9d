//go:build amd64 || arm64

package launcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// secretWalk finds the secret files of the roots.
type secretWalk struct {
	roots  []string
	found  []string
	inodes map[inode]bool // inodes of secret files that also have other names (hard links)
	git    []tracked      // index of each root, nil until the first secret file is found
	guards *guards        // nil: not needed
}

type inode struct{ dev, ino uint64 }

// maskSecrets mounts an unreadable file over the secret files that secretWalk finds, over their
// other names and over the secrets of the home. The same walk finds the guards.
func (v *view) maskSecrets() error {
	w := &secretWalk{roots: v.spec.Roots, inodes: map[inode]bool{}}
	if v.spec.Write {
		w.guards = &guards{roots: v.spec.Roots, home: v.spec.Home}
		v.guards = w.guards
		for _, path := range slices.Concat(v.spec.Hidden, v.spec.Settings) {
			w.guards.hop(path, "")
		}
		for _, r := range v.spec.Roots {
			w.guards.byUser(r)
		}
	}
	w.all(w.byName)
	w.guards = nil
	if len(w.inodes) > 0 {
		w.found = nil
		w.all(w.byInode)
	}
	mask := filepath.Join(layerBase, "mask")
	if err := os.WriteFile(mask, nil, 0); err != nil {
		return fmt.Errorf("creating the mask of secret files: %w", err)
	}
	hidden := slices.DeleteFunc(existing(v.spec.Hidden), isFolder) // folders are hidden already
	for _, path := range slices.Concat(
		w.found, existing(joined(v.spec.Home, homeSecretFiles)), hidden,
	) {
		if slices.Contains(v.spec.Secrets, path) {
			continue
		}
		if err := unix.Mount(
			mask,
			path,
			"",
			unix.MS_BIND,
			"",
		); err != nil &&
			!errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("masking %s: %w", path, err)
		}
	}
	for _, dir := range joined(v.spec.Home, homeSecretFolders) {
		if v.shows(dir) {
			continue
		}
		if err := hide(dir); err != nil {
			return err
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// shows reports whether a folder of the home stays visible because it contains a secret file that
// must stay readable. If a root contains the folder, it is hidden, because the other secrets in it
// would also be visible.
func (v *view) shows(dir string) bool {
	return slices.ContainsFunc(v.spec.Secrets, func(f string) bool { return Below(f, dir) }) &&
		!slices.ContainsFunc(v.spec.Roots, func(r string) bool { return Below(dir, r) })
}

// These are the secrets in the home folder, which is visible only if a root contains it.
var (
	homeSecretFolders = []string{".ssh", ".gnupg", ".aws", ".kube", ".config/gh"}
	homeSecretFiles   = []string{
		".docker/config.json",
		".npmrc",
		".pypirc",
		".cargo/credentials",
		".cargo/credentials.toml",
	}
)

func (w *secretWalk) all(file func(path string, e os.DirEntry)) {
	for _, r := range w.roots {
		w.folder(r, file)
	}
}

// folder walks a folder without following links. Files that the user cannot read are skipped,
// because the command cannot read them either. Installed packages are skipped, because they contain
// test keys and public certificates, but no secrets of the user. Git's object folder is skipped,
// because Git chooses the names in it.
func (w *secretWalk) folder(dir string, file func(path string, e os.DirEntry)) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	f.Close()
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if w.guards != nil {
			w.guards.walked(path, e)
		}
		switch {
		case e.IsDir():
			if !packageFolders[e.Name()] &&
				(e.Name() != "objects" || filepath.Base(dir) != ".git") {
				w.folder(path, file)
			}
		case e.Type().IsRegular():
			file(path, e)
		case e.Type() == os.ModeSymlink && Secret(e.Name()):
			w.link(path)
		}
	}
}

// link adds the target of a link with a secret name to the files to mask.
func (w *secretWalk) link(path string) {
	to, err := filepath.EvalSymlinks(path)
	if err != nil || !slices.ContainsFunc(w.roots, func(r string) bool { return Below(to, r) }) {
		return
	}
	if fi, err := os.Lstat(to); err == nil && fi.Mode().IsRegular() && !w.stored(to) {
		w.found = append(w.found, to)
	}
}

// stored reports whether Git has stored a file in its current state.
func (w *secretWalk) stored(path string) bool {
	if w.git == nil {
		for _, r := range w.roots {
			w.git = append(w.git, trackedIn(r))
		}
	}
	return slices.ContainsFunc(w.git, func(t tracked) bool { return t.unchanged(path) })
}

func (w *secretWalk) byName(path string, e os.DirEntry) {
	if !Secret(e.Name()) || w.stored(path) {
		return
	}
	w.found = append(w.found, path)
	if st := stat(e); st != nil && st.Nlink > 1 {
		w.inodes[inode{st.Dev, st.Ino}] = true
	}
}

func (w *secretWalk) byInode(path string, e os.DirEntry) {
	if Secret(e.Name()) && !w.stored(path) {
		w.found = append(w.found, path)
	} else if st := stat(e); st != nil && st.Nlink > 1 && w.inodes[inode{st.Dev, st.Ino}] {
		w.found = append(w.found, path)
	}
}

func stat(e os.DirEntry) *syscall.Stat_t {
	fi, err := e.Info()
	if err != nil {
		return nil
	}
	st, _ := fi.Sys().(*syscall.Stat_t)
	return st
}
