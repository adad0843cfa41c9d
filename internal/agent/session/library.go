package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	logSuffix   = ".jsonl"
	indexSuffix = ".index"
)

// validID reports whether a session ID is valid. A valid ID contains no path separators.
func validID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
		case i > 0 && (c == '_' || c == '-'):
		default:
			return false
		}
	}
	return 0 < len(id) && len(id) <= maxID
}

// maxID is the maximum length of an ID in bytes.
const maxID = 64

// Options configure a Library. The zero value is valid.
type Options struct {
	// Redact removes secrets from each line before it is written. If it is nil, nothing is removed.
	Redact func([]byte) []byte
	// Cwd is the working directory of imported sessions.
	Cwd string
	// PendingProposal returns the ID of the proposal that belongs to a call's item and still exists
	// after a restart, or "". If it is nil, there are no such proposals.
	PendingProposal func(sessionID, itemID string) string
	// Spare is the folder for new sessions while the library's own folder cannot be written. ""
	// means that there is none.
	Spare string
	// Log receives minor errors. nil means no log.
	Log *slog.Logger

	// These fields are for tests: the clock (nil for time.Now) and the size limit of a log (0 for
	// MaxBytes).
	now      func() time.Time
	maxBytes int64
}

// ErrUnknownItem reports that a session has no completed item with the given ID.
var ErrUnknownItem = errors.New("there is no such completed item")

// Library manages the folder with the sessions of one workspace. It is safe for concurrent use, and
// several processes may use one folder.
type Library struct {
	dir  string
	opts Options

	mu    sync.Mutex
	open  map[string]*Session
	cache map[string]cached
	spare map[string]error // reason why a session is in the spare folder, by session ID
}

// cached is a list entry, together with the state of the log from which it was read.
type cached struct {
	size  int64
	mtime time.Time
	entry Entry
}

// Dir returns the folder for a workspace's sessions in the state directory. Its name consists of a
// readable name and a hash of the root, so that folders with the same name do not conflict.
func Dir(stateDir, root string) string {
	root = filepath.Clean(root)
	sum := sha256.Sum256([]byte(root))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' ||
			r == '_' {
			return r
		}
		return '-'
	}, filepath.Base(root))
	return filepath.Join(stateDir, "sessions",
		fmt.Sprintf("%.40s-%s", name, hex.EncodeToString(sum[:6])))
}

// Open returns the library in dir with default options. Nothing is read or created before the
// library is used.
func Open(dir string) *Library { return OpenWith(dir, Options{}) }

// OpenWith returns the library in dir.
func OpenWith(dir string, opts Options) *Library {
	return &Library{dir: dir, opts: opts, open: map[string]*Session{}, cache: map[string]cached{},
		spare: map[string]error{}}
}

func (l *Library) logPath(id string) string   { return filepath.Join(l.dirOf(id), id+logSuffix) }
func (l *Library) indexPath(id string) string { return filepath.Join(l.dirOf(id), id+indexSuffix) }

func (l *Library) now() time.Time {
	if l.opts.now != nil {
		return l.opts.now()
	}
	return time.Now()
}

func (l *Library) maxBytes() int64 {
	if l.opts.maxBytes > 0 {
		return l.opts.maxBytes
	}
	return MaxBytes
}

func (l *Library) redact(b []byte) []byte {
	if l.opts.Redact == nil {
		return b
	}
	return l.opts.Redact(b)
}

// title derives a title from a prompt, without secrets.
func (l *Library) title(prompt string) string {
	return string(l.redact([]byte(ShortTitle(prompt))))
}

func (l *Library) warn(doing string, err error) {
	if l.opts.Log != nil {
		l.opts.Log.Warn(doing, "error", err)
	}
}

// NewID returns a new session ID. Later IDs sort after earlier ones.
func NewID(now time.Time) string {
	var b [12]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMicro())<<8)
	_, _ = rand.Read(b[7:]) // rand.Read never fails
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// Create creates a session. If meta has no ID or time, Create sets them.
func (l *Library) Create(meta Meta) (*Session, error) {
	if meta.CreatedAt.IsZero() {
		meta.CreatedAt = l.now()
	}
	if meta.ID == "" {
		meta.ID = NewID(meta.CreatedAt)
	}
	if !validID(meta.ID) {
		return nil, fmt.Errorf("creating session %q: an id has 1 to 64 letters, digits, - and _",
			meta.ID)
	}
	meta.Version = Version
	f, err := l.newLog(meta.ID)
	if err != nil {
		return nil, fmt.Errorf("creating session %s: %w", meta.ID, err)
	}
	s := &Session{lib: l, id: meta.ID, file: f, log: newLogState(meta.ID)}
	s.publish()
	l.keep(s) // before the session is listed, so that GC keeps it as an open session
	header, err := newRecord(RecordHeader, meta.CreatedAt, meta)
	if err == nil {
		err = s.Append(header)
	}
	if err != nil {
		l.forget(s)
		f.Close()
		os.Remove(l.logPath(meta.ID))
		return nil, err
	}
	return s, nil
}

func (l *Library) keep(s *Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[s.id] = s
}

func (l *Library) forget(s *Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[s.id] == s {
		delete(l.open, s.id)
	}
}

// InUse returns the IDs of the sessions that are open in this process, in no particular order.
func (l *Library) InUse() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.open))
}

func (l *Library) opened(id string) *Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[id]
}

// Delete permanently removes a session. It returns ErrLocked if another process is writing the
// session.
func (l *Library) Delete(id string) error {
	if !validID(id) {
		return fmt.Errorf("deleting session %q: %w", id, ErrUnknown)
	}
	s := l.opened(id)
	if s == nil {
		s = &Session{lib: l, id: id, log: newLogState(id)}
		s.publish()
	}
	if err := s.remove(); err != nil {
		return err
	}
	l.mu.Lock()
	delete(l.cache, id)
	l.mu.Unlock()
	return nil
}

// remove deletes the files while holding the writer's lock.
func (s *Session) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openForWriting(); err != nil {
		return err
	}
	if !s.locked {
		if err := lockFile(s.file); err != nil {
			s.file.Close()
			s.file = nil
			return fmt.Errorf("deleting session %s: %w", s.id, err)
		}
	}
	s.closed, s.locked = true, false
	s.writer.Store(false)
	s.lib.forget(s)
	s.durable.idle()
	s.file.Close() // Windows cannot remove an open file
	if err := os.Remove(s.lib.logPath(s.id)); err != nil {
		return fmt.Errorf("deleting session %s: %w", s.id, err)
	}
	os.Remove(s.lib.indexPath(s.id))
	return nil
}

// Close closes every open session of the library.
func (l *Library) Close() error {
	l.mu.Lock()
	var all []*Session
	for _, s := range l.open {
		all = append(all, s)
	}
	l.mu.Unlock()
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
