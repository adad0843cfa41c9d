package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// Move renames a closed file. It never replaces another file: then the error is fs.ErrExist.
// Between two roots it copies and deletes. It creates missing folders.
func Move(from, to path.Ref) error {
	if from.Root != to.Root {
		return copyAcross(from, to)
	}
	root, err := openRoot(from)
	if err != nil {
		return err
	}
	s := &Staged{root: root, name: local(to)}
	defer s.Discard()
	if err := s.makeDirs(filepath.Dir(s.name)); err != nil {
		return fmt.Errorf("renaming %s: %w", from, plain(err))
	}
	if err := s.take(local(from)); err != nil {
		return fmt.Errorf("renaming %s to %s: %w", from, to, plainLink(err))
	}
	s.sealed = true
	syncDir(root, filepath.Dir(s.name))
	return nil
}

// take renames a file to the target's name.
func (s *Staged) take(from string) error {
	err := s.root.Link(from, s.name)
	AtStep("linked")
	if err != nil {
		if _, there := s.root.Lstat(s.name); errors.Is(err, fs.ErrExist) || there == nil {
			return err
		}
		return s.root.Rename(from, s.name)
	}
	return orElseUndo(s.root.Remove(from), func() { _ = s.root.Remove(s.name) })
}

// orElseUndo removes a file's new name if its old one could not be removed. If the old name no
// longer exists, the new one stays, because it is the only one.
func orElseUndo(err error, undo func()) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		undo()
	}
	return err
}

func plainLink(err error) error {
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return plain(err)
}

func copyAcross(from, to path.Ref) error {
	data, st, err := Read(from)
	if err != nil {
		return err
	}
	if err := Write(to, data, "", st.Mode()); err != nil {
		return err
	}
	return orElseUndo(Remove(from, Hash(data)), func() { _ = Remove(to, Hash(data)) })
}

// Exists reports whether there is anything at the reference's path, a symbolic link included.
func Exists(ref path.Ref) bool {
	root, err := openRoot(ref)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Lstat(local(ref))
	return err == nil
}

// DropSecondName removes the new name of a file that still has its old one as well, which a rename
// leaves that was interrupted between its two steps. It does nothing if the two names are not the
// same file.
func DropSecondName(from, to path.Ref) {
	root, err := openRoot(to)
	if err != nil || from.Root != to.Root {
		return
	}
	defer root.Close()
	old, errOld := root.Lstat(local(from))
	now, errNow := root.Lstat(local(to))
	if errOld == nil && errNow == nil && os.SameFile(old, now) {
		_ = root.Remove(local(to))
	}
}
