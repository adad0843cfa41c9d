package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// folder contains the open folder of a file and the file's name in that folder. All access to a
// file uses a folder. The path of a reference contains no links. A link in the path must therefore
// have been created after the reference was resolved and the user was asked. openFolder refuses
// such a link even if it does not lead out of the root.
type folder struct {
	root *os.Root
	name string // "." for the root itself
}

var errLinked = errors.New("a folder of its path became a symbolic link")

// openFolder opens the folder of a reference. The caller closes it.
func openFolder(ref path.Ref) (*folder, error) {
	at, err := openRoot(ref)
	if err != nil {
		return nil, err
	}
	for {
		first, rest, deeper := strings.Cut(at.name, string(filepath.Separator))
		if !deeper {
			return at, nil
		}
		next, err := at.enter(first)
		at.root.Close()
		if err != nil {
			return nil, err
		}
		next.name = rest
		at = next
	}
}

// openRoot opens a reference's root. The name of the returned folder is the reference's path
// relative to that root.
func openRoot(ref path.Ref) (*folder, error) {
	if ref.Root == "" {
		return nil, fmt.Errorf("using %s: only its open document can be used: %w", ref,
			path.ErrOutside)
	}
	outer, rel := ref.Outermost()
	root, err := os.OpenRoot(outer)
	if err != nil {
		return nil, err
	}
	name := "."
	if rel != "" {
		name = filepath.FromSlash(rel)
	}
	return &folder{root, name}, nil
}

// enter opens a folder in this one, unless it is a link. It compares the opened folder with the one
// that it looked up, which reveals a link that replaced the folder in between.
func (in *folder) enter(name string) (*folder, error) {
	seen, err := in.root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, errLinked
	case !seen.IsDir() && seen.Mode()&fs.ModeIrregular == 0: // a mount point on Windows
		return nil, syscall.ENOTDIR
	}
	root, err := in.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := root.Stat(".")
	if err == nil && seen.IsDir() && !os.SameFile(seen, now) {
		err = errLinked
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return &folder{root, "."}, nil
}

// makeFolder works like openFolder for a file whose folders may be missing. made contains the
// folders that it created, each as a name in the folder above it. The caller closes them, even
// after an error.
func makeFolder(ref path.Ref) (at *folder, made []*folder, err error) {
	if at, err = openRoot(ref); err != nil {
		return nil, nil, err
	}
	for {
		first, rest, deeper := strings.Cut(at.name, string(filepath.Separator))
		if !deeper {
			return at, made, nil
		}
		err := at.root.Mkdir(first, 0o777)
		isNew := err == nil
		var next *folder
		if isNew || errors.Is(err, fs.ErrExist) {
			next, err = at.enter(first)
		}
		if at.name = first; isNew {
			made = append(made, at)
		} else {
			at.root.Close()
		}
		if err != nil {
			return nil, made, err
		}
		next.name = rest
		at = next
	}
}

// sync makes changes to the names in the folder durable.
func (in *folder) sync() { syncDir(in.root, ".") }
