package workspace

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

// blobStore keeps contents under their hash, compressed: on disk below the state directory,
// or in memory where there is none. The same content is kept once, however often it occurs.
type blobStore struct {
	dir string

	mu  sync.Mutex
	mem map[string][]byte
}

func newBlobStore(stateDir string) *blobStore {
	s := &blobStore{mem: map[string][]byte{}}
	if stateDir != "" {
		s.dir = filepath.Join(stateDir, "blobs")
	}
	return s
}

// The coders are made on first use: a daemon that never edits should not pay for them.
var (
	zstdWriter = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	})
	zstdReader = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*MaxFileSize))
	})
)

func (s *blobStore) path(sha string) string { return filepath.Join(s.dir, sha[:2], sha+".zst") }

// put keeps data and returns its hash once it is safe on disk.
func (s *blobStore) put(data []byte) (sha string, err error) {
	sha = HashOf(data)
	if s.dir == "" {
		s.mu.Lock()
		_, known := s.mem[sha]
		s.mu.Unlock()
		if known {
			return sha, nil
		}
	} else if now := time.Now(); os.Chtimes(s.path(sha), now, now) == nil {
		return sha, nil // fresh again, so that no collection of another process takes it
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
	return sha, writeState(s.path(sha), packed)
}

func (s *blobStore) get(sha string) ([]byte, error) {
	s.mu.Lock()
	packed, ok := s.mem[sha]
	s.mu.Unlock()
	if !ok {
		if s.dir == "" || !validSHA(sha) {
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
	if HashOf(data) != sha {
		return nil, fmt.Errorf("reading saved content %s: it is damaged", sha)
	}
	return data, nil
}

func validSHA(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

// writeState writes a file of the state directory: whole or not at all, safe when it returns.
func writeState(path string, data []byte) error {
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
		err = syncFile(f)
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

// sessionDir is the folder of a session's state; odd ids are spelled in hex.
func (w *Workspace) sessionDir(kind, sessionID string) string {
	plain := sessionID != "" && len(sessionID) < 100 && strings.IndexFunc(sessionID, func(r rune) bool {
		return !(r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
	if !plain {
		sessionID = "x-" + HashOf([]byte(sessionID))
	}
	return filepath.Join(w.opt.StateDir, kind, sessionID)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
