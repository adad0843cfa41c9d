package workspace

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// errChangedOnDisk means that a file was not what the write was computed from.
var errChangedOnDisk = errors.New("it was changed on disk meanwhile")

// syncFile makes a file's bytes safe; the tests that do not crash leave it out.
var syncFile = (*os.File).Sync

// step is called between the steps of a write and of a decision; tests kill the process in it.
var step = func(string) {}

func (r Ref) rel() string {
	if r.Rel == "" {
		return "."
	}
	return filepath.FromSlash(r.Rel)
}

// openRoot opens the folder below which a reference lies. Everything goes through it: the
// kernel then refuses whatever leads out, also if it was put there a moment ago.
func (r Ref) openRoot() (*os.Root, error) {
	if r.root == "" {
		return nil, fmt.Errorf("using %s: only its open document can be used: %w", r.Rel, ErrOutside)
	}
	return os.OpenRoot(r.root)
}

func openDisk(ref Ref) (*os.File, fs.FileInfo, error) {
	root, err := ref.openRoot()
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// Looked at before it is opened: opening a device can have effects.
	st, err := root.Lstat(ref.rel())
	if err == nil {
		err = regular(st)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", ref.Rel, plain(err))
	}
	f, err := root.OpenFile(ref.rel(), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", ref.Rel, plain(err))
	}
	st, err = f.Stat()
	if err == nil {
		err = regular(st)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("opening %s: %w", ref.Rel, plain(err))
	}
	return f, st, nil
}

// plain strips the operation and path that the file system adds; the caller names the path.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func regular(st fs.FileInfo) error {
	switch m := st.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return errors.New("it is a directory")
	case m&fs.ModeSymlink != 0:
		return errors.New("it became a symbolic link")
	case m&fs.ModeNamedPipe != 0:
		return errors.New("it is a named pipe, not a file")
	case m&fs.ModeSocket != 0:
		return errors.New("it is a socket, not a file")
	}
	return errors.New("it is a device, not a file")
}

// Stat returns what is known of a path below its root without following a symlink.
func (w *Workspace) Stat(ref Ref) (fs.FileInfo, error) {
	root, err := ref.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Lstat(ref.rel())
}

// ReadDir lists a directory below its root.
func (w *Workspace) ReadDir(ref Ref) ([]fs.DirEntry, error) {
	root, err := ref.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(ref.rel(), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", ref.Rel, plain(err))
	}
	defer f.Close()
	return f.ReadDir(-1)
}

func readAll(r io.Reader, size int64) ([]byte, error) {
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := buf.ReadFrom(io.LimitReader(r, MaxFileSize+1))
	if err == nil && buf.Len() > MaxFileSize {
		err = ErrTooLarge
	}
	return buf.Bytes(), err
}

// staged is a file write whose risky half is done: the new bytes are safe on disk under a
// temporary name. commit puts them in place with one rename, or not at all.
type staged struct {
	root   *os.Root
	name   string // target, relative to the root
	tmp    string
	base   string // sha256 that the target must still have; "" if it must not exist
	shown  string
	mode   fs.FileMode // of a new file; 0 for the usual
	made   []string    // directories made for it, outermost first
	sealed bool
}

// stage writes data beside its target, with the target's mode and owner.
func stage(ref Ref, data []byte, base string, mode fs.FileMode) (s *staged, err error) {
	root, err := ref.openRoot()
	if err != nil {
		return nil, err
	}
	s = &staged{root: root, name: ref.rel(), base: base, mode: mode, shown: ref.Rel}
	if err := s.write(data); err != nil {
		s.discard()
		return nil, fmt.Errorf("writing %s: %w", ref.Rel, plain(err))
	}
	return s, nil
}

func (s *staged) write(data []byte) error {
	st, err := s.target()
	if err != nil {
		return err
	}
	dir := filepath.Dir(s.name)
	if st == nil {
		if err := s.makeDirs(dir); err != nil {
			return err
		}
	}
	s.tmp = filepath.Join(dir, tempName(filepath.Base(s.name)))
	f, err := s.root.OpenFile(s.tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		s.tmp = ""
		return err
	}
	defer f.Close()
	step("temp created")
	if _, err := f.Write(data); err != nil {
		return err
	}
	if st != nil {
		if err := copyMeta(f, st); err != nil {
			return err
		}
	}
	if st == nil && s.mode != 0 {
		if err := f.Chmod(s.mode.Perm()); err != nil {
			return err
		}
	}
	step("temp written")
	return syncFile(f)
}

// target looks at what the write would replace; nil if there is nothing, as expected.
func (s *staged) target() (fs.FileInfo, error) {
	st, err := s.root.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.base == "":
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("it was deleted meanwhile")
	case err != nil:
		return nil, err
	case s.base == "":
		return nil, fmt.Errorf("%w", fs.ErrExist)
	}
	if err := regular(st); err != nil {
		return nil, err
	}
	if st.Mode().Perm()&0o200 == 0 {
		return nil, errors.New("it is read-only")
	}
	return st, nil
}

// makeDirs makes the missing directories above the target and remembers them.
func (s *staged) makeDirs(dir string) error {
	for _, part := range ancestors(dir) {
		err := s.root.Mkdir(part, 0o777)
		if err == nil {
			s.made = append(s.made, part)
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// ancestors returns a/, a/b/, … of a relative path, outermost first.
func ancestors(dir string) []string {
	var out []string
	for d := filepath.ToSlash(dir); d != "." && d != "/" && d != ""; d = path.Dir(d) {
		out = append([]string{filepath.FromSlash(d)}, out...)
	}
	return out
}

const tempSuffix = ".agent-lsp.tmp"

func tempName(base string) string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return tempPrefix(base) + hex.EncodeToString(b[:]) + tempSuffix
}

func tempPrefix(base string) string {
	if len(base) > 200 {
		base = base[:200]
	}
	return "." + strings.TrimPrefix(base, ".") + "."
}

// sweepBeside removes the temporary files that belong to a file.
func sweepBeside(ref Ref) {
	root, err := ref.openRoot()
	if err != nil {
		return
	}
	defer root.Close()
	d, err := root.Open(filepath.Dir(ref.rel()))
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		if strings.HasPrefix(n, tempPrefix(filepath.Base(ref.rel()))) && strings.HasSuffix(n, tempSuffix) {
			_ = root.Remove(filepath.Join(filepath.Dir(ref.rel()), n))
		}
	}
}

// commit compares the target with the base once more and renames the new file over it.
func (s *staged) commit() error {
	defer s.discard()
	if err := s.swap(); err != nil {
		return fmt.Errorf("writing %s: %w", s.shown, plain(err))
	}
	s.sealed = true
	step("renamed")
	syncDir(s.root, filepath.Dir(s.name))
	return nil
}

func (s *staged) swap() error {
	if s.base == "" {
		// A link fails where the name exists: nothing that appeared meanwhile is lost.
		err := s.root.Link(s.tmp, s.name)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		if _, err := s.root.Lstat(s.name); !errors.Is(err, fs.ErrNotExist) {
			return fs.ErrExist
		}
		return s.root.Rename(s.tmp, s.name)
	}
	now, err := s.root.ReadFile(s.name)
	if err != nil {
		return err
	}
	if HashOf(now) != s.base {
		return errChangedOnDisk
	}
	step("compared")
	return s.root.Rename(s.tmp, s.name)
}

// discard removes what is left of an uncommitted write.
func (s *staged) discard() {
	if s.root == nil {
		return
	}
	if s.tmp != "" {
		_ = s.root.Remove(s.tmp)
	}
	for i := len(s.made) - 1; i >= 0 && !s.sealed; i-- {
		_ = s.root.Remove(s.made[i])
	}
	s.root.Close()
	s.root = nil
}

// writeFile is stage and commit in one.
func writeFile(ref Ref, data []byte, base string, mode fs.FileMode) error {
	s, err := stage(ref, data, base, mode)
	if err != nil {
		return err
	}
	return s.commit()
}

// removeFile deletes a file that still has the base's hash.
func removeFile(ref Ref, base string) error {
	data, _, err := readRaw(ref)
	if err != nil {
		return err
	}
	if base != "" && HashOf(data) != base {
		return fmt.Errorf("deleting %s: %w", ref.Rel, errChangedOnDisk)
	}
	root, err := ref.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(ref.rel()); err != nil {
		return fmt.Errorf("deleting %s: %w", ref.Rel, plain(err))
	}
	syncDir(root, filepath.Dir(ref.rel()))
	return nil
}
