package files

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// ErrChanged means that a file is not the text that the write was computed from.
var ErrChanged = errors.New("it was changed on disk meanwhile")

// MaxFileSize is the size in bytes of the largest file that can be read completely and edited. A
// larger file can only be streamed.
const MaxFileSize = 64 << 20

// ErrTooLarge means that a file is too large to be read completely. Open streams it.
var ErrTooLarge = errors.New("the file is too large to be read whole")

func local(r path.Ref) string {
	if r.Rel == "" {
		return "."
	}
	return filepath.FromSlash(r.Rel)
}

// openRoot opens the folder that a reference is relative to. All access goes through it, so the
// kernel refuses every path that leads out, even if another program created it a moment ago.
func openRoot(r path.Ref) (*os.Root, error) {
	if r.Root == "" {
		return nil, fmt.Errorf("using %s: only its open document can be used: %w", r,
			path.ErrOutside)
	}
	return os.OpenRoot(r.Root)
}

// Open opens a regular file below its root for reading. It refuses devices, pipes, sockets and
// symbolic links, even if another program put one there meanwhile. The caller closes the file. The
// error names the reference.
func Open(ref path.Ref) (*os.File, fs.FileInfo, error) {
	root, err := openRoot(ref)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// Check the type before opening: opening a device can have effects.
	st, err := root.Lstat(local(ref))
	if err == nil {
		err = regular(st)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", ref, plain(err))
	}
	f, err := root.OpenFile(local(ref), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", ref, plain(err))
	}
	seen := st
	st, err = f.Stat()
	if err == nil {
		err = regular(st)
	}
	if err == nil && !os.SameFile(seen, st) {
		err = ErrChanged
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("opening %s: %w", ref, plain(err))
	}
	return f, st, nil
}

// plain strips the operation and path that the file system adds to an error, because the caller
// names the path.
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

func readAll(r io.Reader, size int64) ([]byte, error) {
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := buf.ReadFrom(io.LimitReader(r, MaxFileSize+1))
	if err == nil && buf.Len() > MaxFileSize {
		err = ErrTooLarge
	}
	return buf.Bytes(), err
}

// Staged is a file write whose risky half is done: the new bytes are safe on disk under a temporary
// name. Commit renames that file to its final name, or changes nothing. One goroutine owns it and
// ends it with Commit or Discard.
type Staged struct {
	root   *os.Root
	name   string // target, relative to the root
	tmp    string
	base   string // sha256 that the target must still have; "" if it must not exist
	shown  string
	mode   fs.FileMode // of a new file; 0 for the usual
	made   []string    // directories made for it, outermost first
	sealed bool
}

// Stage writes data to a temporary file in the target's folder, with the target's mode and owner.
// base is the hash that the target must have, "" if it must not exist. mode is the mode of a new
// file, 0 for the usual one. A full or read-only disk is reported here, before the target changes.
func Stage(ref path.Ref, data []byte, base string, mode fs.FileMode) (s *Staged, err error) {
	root, err := openRoot(ref)
	if err != nil {
		return nil, err
	}
	s = &Staged{root: root, name: local(ref), base: base, mode: mode, shown: ref.String()}
	if err := s.write(data); err != nil {
		s.Discard()
		return nil, fmt.Errorf("writing %s: %w", ref, plain(err))
	}
	return s, nil
}

func (s *Staged) write(data []byte) error {
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
	AtStep("temp created")
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
	AtStep("temp written")
	return SyncFile(f)
}

// target inspects the file that the write would replace. It returns nil if there is none, as
// expected.
func (s *Staged) target() (fs.FileInfo, error) {
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

// makeDirs creates the missing directories above the target and remembers them.
func (s *Staged) makeDirs(dir string) error {
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
	for d := filepath.ToSlash(dir); d != "." && d != "/" && d != ""; d = slashpath.Dir(d) {
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

// Sweep removes the temporary files that an interrupted write of ref left in its folder.
func Sweep(ref path.Ref) {
	root, err := openRoot(ref)
	if err != nil {
		return
	}
	defer root.Close()
	d, err := root.Open(filepath.Dir(local(ref)))
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		if strings.HasPrefix(n, tempPrefix(filepath.Base(local(ref)))) &&
			strings.HasSuffix(n, tempSuffix) {
			_ = root.Remove(filepath.Join(filepath.Dir(local(ref)), n))
		}
	}
}

// Commit compares the target with the base once more and renames the new file over it. It returns
// when the rename is safe on disk. The error is ErrChanged or fs.ErrExist if another program was
// faster; then the target stays as that program left it.
func (s *Staged) Commit() error {
	defer s.Discard()
	if err := s.swap(); err != nil {
		return fmt.Errorf("writing %s: %w", s.shown, plain(err))
	}
	s.sealed = true
	AtStep("renamed")
	syncDir(s.root, filepath.Dir(s.name))
	return nil
}

func (s *Staged) swap() error {
	if s.base == "" {
		// A link fails if the name exists, so nothing that appeared meanwhile is lost.
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
	if Hash(now) != s.base {
		return ErrChanged
	}
	AtStep("compared")
	return s.root.Rename(s.tmp, s.name)
}

// Discard removes what is left of an uncommitted write, created folders included. It may be called
// again and after Commit.
func (s *Staged) Discard() {
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

// Write is Stage and Commit in one.
func Write(ref path.Ref, data []byte, base string, mode fs.FileMode) error {
	s, err := Stage(ref, data, base, mode)
	if err != nil {
		return err
	}
	return s.Commit()
}

// Remove deletes a file whose hash is base, or with "" whatever its content. The error is
// ErrChanged if the file has other content.
func Remove(ref path.Ref, base string) error {
	data, _, err := Read(ref)
	if err != nil {
		return err
	}
	if base != "" && Hash(data) != base {
		return fmt.Errorf("deleting %s: %w", ref, ErrChanged)
	}
	root, err := openRoot(ref)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(local(ref)); err != nil {
		return fmt.Errorf("deleting %s: %w", ref, plain(err))
	}
	syncDir(root, filepath.Dir(local(ref)))
	return nil
}

// Hash returns the SHA-256 of data in hex, which the protocol calls sha256.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Read returns the bytes of a regular file, and its metadata. The error is fs.ErrNotExist,
// ErrTooLarge for a file over MaxFileSize, or the reason why the file cannot be read.
func Read(ref path.Ref) ([]byte, fs.FileInfo, error) {
	f, st, err := Open(ref)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if st.Size() > MaxFileSize {
		return nil, nil, fmt.Errorf("reading %s (%d bytes): %w", ref, st.Size(), ErrTooLarge)
	}
	data, err := readAll(f, st.Size())
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	return data, st, nil
}

// Stat returns the attributes of a path below its root. It does not follow a symbolic link.
func Stat(ref path.Ref) (fs.FileInfo, error) {
	root, err := openRoot(ref)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Lstat(local(ref))
}

// ReadDir lists a directory below its root.
func ReadDir(ref path.Ref) ([]fs.DirEntry, error) {
	root, err := openRoot(ref)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(local(ref), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", ref, plain(err))
	}
	defer f.Close()
	return f.ReadDir(-1)
}
