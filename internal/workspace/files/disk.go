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
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// ErrChanged means that a file does not have the content from which the write was computed.
var ErrChanged = errors.New("it was changed on disk in the meantime")

// MaxFileSize is the size in bytes of the largest file whose bytes can be read completely. A larger
// file can only be streamed. An edit has a lower limit (edit.MaxSize).
const MaxFileSize = 64 << 20

// ErrTooLarge means that a file is too large to be read completely. Open streams it.
var ErrTooLarge = errors.New("the file is too large to be read whole")

// Open opens a regular file below its root for reading. It refuses devices, pipes, sockets and
// symbolic links, even if another program created one there after the path was resolved. The caller
// closes the file. The error names the reference.
func Open(ref path.Ref) (*os.File, fs.FileInfo, error) {
	in, err := openFolder(ref)
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", ref, plain(err))
	}
	defer in.root.Close()
	return in.open(ref)
}

// open works like Open in a folder that is already open.
func (in *folder) open(ref path.Ref) (*os.File, fs.FileInfo, error) {
	// The type is checked before opening, because opening a device can have effects.
	st, err := in.root.Lstat(in.name)
	if err == nil {
		err = regular(st)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", ref, plain(err))
	}
	f, err := in.root.OpenFile(in.name, os.O_RDONLY|nonblock, 0)
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

// Staged is a prepared file write. The new bytes are safe on disk under a temporary name. Commit
// renames that file to its final name, or changes nothing. One goroutine owns a Staged and ends it
// with Commit or Discard.
type Staged struct {
	in     *folder // folder of the target
	tmp    string  // name of the temporary file in the same folder
	base   string  // sha256 that the target must still have; "" if it must not exist
	shown  string
	mode   fs.FileMode // mode of a new file; 0 for the default
	made   []*folder   // folders created for the file, outermost first
	sealed bool
}

// Stage writes data to a temporary file in the target's folder, with the target's mode and owner.
// base is the hash that the target must have, or "" if the target must not exist. mode is the mode
// of a new file, or 0 for the usual mode. A full or read-only disk causes an error here, before the
// target changes.
func Stage(ref path.Ref, data []byte, base string, mode fs.FileMode) (s *Staged, err error) {
	s = &Staged{base: base, mode: mode, shown: ref.String()}
	if err = s.open(ref); err == nil {
		err = s.write(data)
	}
	if err != nil {
		s.Discard()
		return nil, fmt.Errorf("writing %s: %w", ref, plain(err))
	}
	return s, nil
}

// open opens the target's folder. It creates missing folders for a new file.
func (s *Staged) open(ref path.Ref) (err error) {
	s.in, err = openFolder(ref)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
	case s.base != "":
		err = errDeleted
	default:
		s.in, s.made, err = makeFolder(ref)
	}
	return err
}

var errDeleted = errors.New("it was deleted in the meantime")

func (s *Staged) write(data []byte) error {
	st, err := s.target()
	if err != nil {
		return err
	}
	s.tmp = tempName(s.in.name)
	f, err := s.in.root.OpenFile(s.tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
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
	st, err := s.in.root.Lstat(s.in.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.base == "":
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, errDeleted
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
	in, err := openFolder(ref)
	if err != nil {
		return
	}
	defer in.root.Close()
	d, err := in.root.Open(".")
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		if strings.HasPrefix(n, tempPrefix(in.name)) && strings.HasSuffix(n, tempSuffix) {
			_ = in.root.Remove(n)
		}
	}
}

// Commit compares the target with the base once more and renames the new file over it. It returns
// when the rename is safe on disk. The error is ErrChanged or fs.ErrExist if another program
// changed or created the target first. In that case, Commit does not change the target.
func (s *Staged) Commit() error {
	defer s.Discard()
	if err := s.swap(); err != nil {
		return fmt.Errorf("writing %s: %w", s.shown, plain(err))
	}
	s.sealed = true
	AtStep("renamed")
	s.in.sync()
	return nil
}

func (s *Staged) swap() error {
	if s.base == "" {
		// A link fails if the name exists, so a file that appeared in the meantime is not lost.
		err := s.in.root.Link(s.tmp, s.in.name)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		if _, err := s.in.root.Lstat(s.in.name); !errors.Is(err, fs.ErrNotExist) {
			return fs.ErrExist
		}
		return s.in.root.Rename(s.tmp, s.in.name)
	}
	now, err := s.in.root.ReadFile(s.in.name)
	if err != nil {
		return err
	}
	if Hash(now) != s.base {
		return ErrChanged
	}
	AtStep("compared")
	return s.in.root.Rename(s.tmp, s.in.name)
}

// Discard removes the remains of an uncommitted write, including created folders. It may be called
// again and after Commit.
func (s *Staged) Discard() {
	if s.in != nil {
		if s.tmp != "" {
			_ = s.in.root.Remove(s.tmp)
		}
		s.in.root.Close()
	}
	for _, made := range slices.Backward(s.made) {
		if !s.sealed {
			_ = made.root.Remove(made.name)
		}
		made.root.Close()
	}
	s.in, s.made = nil, nil
}

// Write combines Stage and Commit.
func Write(ref path.Ref, data []byte, base string, mode fs.FileMode) error {
	s, err := Stage(ref, data, base, mode)
	if err != nil {
		return err
	}
	return s.Commit()
}

// Remove deletes a file whose hash is base. If base is "", it deletes the file regardless of its
// content. The error is ErrChanged if the file has other content.
func Remove(ref path.Ref, base string) error {
	in, err := openFolder(ref)
	if err != nil {
		return fmt.Errorf("deleting %s: %w", ref, plain(err))
	}
	defer in.root.Close()
	data, _, err := in.read(ref)
	if err != nil {
		return err
	}
	if base != "" && Hash(data) != base {
		return fmt.Errorf("deleting %s: %w", ref, ErrChanged)
	}
	if err := in.root.Remove(in.name); err != nil {
		return fmt.Errorf("deleting %s: %w", ref, plain(err))
	}
	in.sync()
	return nil
}

// Hash returns the SHA-256 of data in hex. agent/* messages contain it as sha256.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Read returns the bytes of a regular file, and its metadata. The error is fs.ErrNotExist,
// ErrTooLarge for a file over MaxFileSize, or the reason why the file cannot be read.
func Read(ref path.Ref) ([]byte, fs.FileInfo, error) {
	in, err := openFolder(ref)
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", ref, plain(err))
	}
	defer in.root.Close()
	return in.read(ref)
}

// read works like Read in a folder that is already open.
func (in *folder) read(ref path.Ref) ([]byte, fs.FileInfo, error) {
	f, st, err := in.open(ref)
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
	in, err := openFolder(ref)
	if err != nil {
		return nil, err
	}
	defer in.root.Close()
	return in.root.Lstat(in.name)
}

// ReadDir lists a directory below its root.
func ReadDir(ref path.Ref) ([]fs.DirEntry, error) {
	in, err := openFolder(ref)
	if err == nil && in.name != "." {
		var inner *folder
		inner, err = in.enter(in.name)
		in.root.Close()
		in = inner
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", ref, plain(err))
	}
	defer in.root.Close()
	f, err := in.root.OpenFile(".", os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", ref, plain(err))
	}
	defer f.Close()
	return f.ReadDir(-1)
}
