package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// Move renames a closed file. It never replaces another file but returns fs.ErrExist instead.
// Between two roots, it copies and deletes the file. It creates missing folders.
func Move(from, to path.Ref) error {
	if from.Root != to.Root {
		return copyAcross(from, to)
	}
	old, err := openFolder(from)
	if err != nil {
		return fmt.Errorf("renaming %s: %w", from, plain(err))
	}
	defer old.root.Close()
	s := &Staged{}
	defer s.Discard()
	if err := s.open(to); err != nil {
		return fmt.Errorf("renaming %s: %w", from, plain(err))
	}
	if err := take(old, s.in); err != nil {
		return fmt.Errorf("renaming %s to %s: %w", from, to, plainLink(err))
	}
	s.sealed = true
	s.in.sync()
	return nil
}

// take renames a file. It links the new name and removes the old one, so that it does not replace
// another file.
func take(from, to *folder) error {
	err := link(from, to)
	AtStep("linked")
	if err != nil {
		if _, there := to.root.Lstat(to.name); errors.Is(err, fs.ErrExist) || there == nil {
			return err
		}
		return rename(from, to)
	}
	return orElseUndo(from.root.Remove(from.name), func() { _ = to.root.Remove(to.name) })
}

// orElseUndo removes a file's new name if its old one could not be removed. If the old name no
// longer exists, the new name is kept, because it is the only one.
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

// Exists reports whether there is anything at the reference's path, including a symbolic link.
func Exists(ref path.Ref) bool {
	_, err := Stat(ref)
	return err == nil
}

// DropSecondName removes the new name of a file that still has its old name as well, after a rename
// that was interrupted between its two steps. It does nothing if the two names are not the same
// file.
func DropSecondName(from, to path.Ref) {
	in, err := openFolder(to)
	if err != nil || from.Root != to.Root {
		return
	}
	defer in.root.Close()
	old, errOld := Stat(from)
	now, errNow := in.root.Lstat(in.name)
	if errOld == nil && errNow == nil && os.SameFile(old, now) {
		_ = in.root.Remove(in.name)
	}
}
