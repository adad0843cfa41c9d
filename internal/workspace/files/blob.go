package files

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Blobs stores contents under their hash, compressed. It stores them on disk below the state
// directory, or in memory if there is none. Equal contents are stored once. All methods are safe
// for concurrent use and hold no lock while they read or write the disk.
type Blobs struct {
	dir string

	mu  sync.Mutex
	mem map[string][]byte
}

// NewBlobs returns the store below a state directory. If the directory is "", the store keeps
// contents in memory.
func NewBlobs(stateDir string) *Blobs {
	s := &Blobs{mem: map[string][]byte{}}
	if stateDir != "" {
		s.dir = filepath.Join(stateDir, "blobs")
	}
	return s
}

// The coders are created on first use, because a daemon that never edits should not pay for them.
var (
	zstdWriter = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	})
	zstdReader = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(2*MaxFileSize))
	})
)

func (s *Blobs) path(sha string) string { return filepath.Join(s.dir, sha[:2], sha+".zst") }

// Put stores data and returns its hash once the data is safe on disk. It does not keep a reference
// to data.
func (s *Blobs) Put(data []byte) (sha string, err error) {
	sha = Hash(data)
	if s.dir == "" {
		s.mu.Lock()
		_, known := s.mem[sha]
		s.mu.Unlock()
		if known {
			return sha, nil
		}
	} else if now := time.Now(); os.Chtimes(s.path(sha), now, now) == nil {
		return sha, nil // touched, so that another process does not collect it
	}
	enc, err := zstdWriter()
	if err != nil {
		return "", err
	}
	packed := enc.EncodeAll(data, nil)
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mem[sha] = packed
		return sha, nil
	}
	return sha, WriteState(s.path(sha), packed)
}

// Get returns the content with the given hash in newly allocated memory. The error is
// fs.ErrNotExist if there is no such content. Damaged content is an error too.
func (s *Blobs) Get(sha string) ([]byte, error) {
	s.mu.Lock()
	packed, ok := s.mem[sha]
	s.mu.Unlock()
	if !ok {
		if s.dir == "" || !ValidHash(sha) {
			return nil, fmt.Errorf("reading saved content %q: %w", sha, fs.ErrNotExist)
		}
		var err error
		if packed, err = os.ReadFile(s.path(sha)); err != nil {
			return nil, fmt.Errorf("reading saved content: %w", err)
		}
	}
	dec, err := zstdReader()
	if err != nil {
		return nil, err
	}
	data, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("reading saved content %s: %w", sha, err)
	}
	if Hash(data) != sha {
		return nil, fmt.Errorf("reading saved content %s: it is damaged", sha)
	}
	return data, nil
}

// ValidHash reports whether s has the form of a Hash.
func ValidHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

// WriteState writes a file in the state directory, either completely or not at all. The file is
// safe on disk when WriteState returns.
func WriteState(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("writing state: %w", err)
	}
	f, err := os.CreateTemp(dir, ".state-*.tmp")
	if err != nil {
		return fmt.Errorf("writing state: %w", err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = SyncFile(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("writing state: %w", err)
	}
	return nil
}

// RemoveState removes a file in the state directory. It is not an error if the file does not exist.
func RemoveState(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Size returns the number of bytes that the content with the given hash uses on disk. known is
// false if the content is not stored.
func (s *Blobs) Size(sha string) (bytes int64, known bool) {
	st, err := os.Stat(s.path(sha))
	if err != nil {
		return 0, false
	}
	return st.Size(), true
}

// Collect removes the contents on disk whose hash is not used and that were last stored before the
// given time. It ignores errors, because the next collection tries again.
func (s *Blobs) Collect(used map[string]bool, before time.Time) {
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || used[strings.TrimSuffix(d.Name(), ".zst")] {
			return nil
		}
		if st, err := d.Info(); err == nil && st.ModTime().Before(before) {
			_ = os.Remove(path)
		}
		return nil
	})
}

// SessionDir returns the folder, below the state directory, of one kind of state of a session. It
// replaces an id that a file system might refuse with a hash of the id.
func SessionDir(stateDir, kind, sessionID string) string {
	plain := sessionID != "" && len(sessionID) < 100 &&
		strings.IndexFunc(sessionID, func(r rune) bool {
			return !(r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
		}) < 0
	if !plain {
		sessionID = "x-" + Hash([]byte(sessionID))
	}
	return filepath.Join(stateDir, kind, sessionID)
}
