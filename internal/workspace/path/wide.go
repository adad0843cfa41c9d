package path

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Wide describes a folder that is unlikely to be a workspace: the root of the file system, the home
// folder, or a folder that contains the home folder. It returns "" for any other folder. Both paths
// must be free of links. An empty home means that there is none.
func Wide(folder, home string) string {
	_, around := Within(folder, home)
	switch {
	case filepath.Dir(folder) == folder:
		return "the root of the file system"
	case home == "" || !around:
		return ""
	case Key(folder) == Key(home):
		return "your home folder"
	}
	return "a folder that contains your home folder"
}

// AllowAll makes every wide workspace folder a root, including folders that are added later.
func (r *Roots) AllowAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = true
}

// Allow makes a wide folder a root from now on if it is one of the workspace folders. folder is a
// URI or an absolute path.
func (r *Roots) Allow(folder string) {
	if path, err := FromURI(folder); err == nil {
		folder = path
	}
	key := Key(Root{path: filepath.Clean(folder)}.resolved().Real)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed[key] = true
}

// Refuse removes a folder from the result of Undecided until it is removed from the workspace
// folders.
func (r *Roots) Refuse(folder string) {
	_, held, _ := r.sorted()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, root := range held {
		if Key(root.Real) == Key(folder) {
			r.refused[root.path] = true
		}
	}
}

// Undecided returns the workspace folders that are held back and have not been refused. A folder
// that is held back is wide, not allowed, and not used as a root.
func (r *Roots) Undecided() []Root {
	_, held, _ := r.sorted()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(held, func(root Root) bool { return r.refused[root.path] })
}

// sorted returns the workspace folders that are roots, those that are held back, and whether any
// folder is open. A folder that now leads to another folder is neither a root nor held back.
func (r *Roots) sorted() (usable, held []Root, open bool) {
	r.mu.Lock()
	list := slices.Clone(r.list)
	r.mu.Unlock()
	for _, root := range list {
		root, same := r.settled(root)
		switch {
		case !same:
		case r.holds(root.Real):
			held = append(held, root)
		default:
			usable = append(usable, root)
		}
	}
	return usable, held, len(list) > 0
}

// HoldsBack reports whether a folder is wide and not allowed, regardless of whether the user has
// refused it.
func (r *Roots) HoldsBack(folder string) bool {
	real, err := Canonical(filepath.Clean(folder))
	return err == nil && r.holds(real)
}

// holds reports whether a folder is wide and not allowed.
func (r *Roots) holds(folder string) bool {
	r.mu.Lock()
	allowed := r.all || r.allowed[Key(folder)]
	r.mu.Unlock()
	return !allowed && r.wide(folder) != "" // reads the disk, so it is called last
}

// wide is Wide for the home folder of r.
func (r *Roots) wide(folder string) string { return Wide(folder, r.realHome()) }

// heldBack returns the error for a path that is only in folders that are held back.
func heldBack(what string, held []Root) error {
	names := make([]string, len(held))
	for i, r := range held {
		names[i] = r.path
	}
	return fmt.Errorf("resolving %s: %w: the user has not allowed %s as the workspace, "+
		"so only documents open in the editor can be used there, by their full path", what,
		ErrOutside, strings.Join(names, " and "))
}
