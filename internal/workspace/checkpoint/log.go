package checkpoint

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// ErrUnknown means that the checkpoint never existed or no longer exists.
var ErrUnknown = errors.New("there is no such checkpoint")

// Stat counts the files and lines of a change.
type Stat struct {
	Files   int `json:"files"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Checkpoint describes one checkpoint.
type Checkpoint struct {
	ID         string
	SessionID  string
	TurnID     string
	MessageID  string
	CreatedAt  time.Time
	Files      []string // URIs
	Stat       Stat
	Restore    bool     // created by a restore; restoring it undoes that restore
	Undone     bool     // whether a restore reverted the checkpoint's changes
	NotCovered []string // files changed by commands, which no checkpoint can undo

	// Through is set if the restore also shortened the conversation. It is the ID of the last
	// message before the restore, or "" if there was no message.
	Through *string
}

// record is the stored form of a checkpoint.
type record struct {
	ID         string    `json:"id"`
	Session    string    `json:"session"`
	Turn       string    `json:"turn,omitempty"`
	Message    string    `json:"message,omitempty"`
	Created    time.Time `json:"created"`
	Number     int       `json:"number"`
	Files      []*File   `json:"files,omitempty"`
	Restore    bool      `json:"restore,omitempty"`
	Undone     bool      `json:"undone,omitempty"`
	Undid      []string  `json:"undid,omitempty"` // checkpoints that the restore reverted
	Redid      []string  `json:"redid,omitempty"` // checkpoints that the restore brought back
	NotCovered []string  `json:"notCovered,omitempty"`
	Through    *string   `json:"through,omitempty"` // as in Checkpoint
}

// File contains the steps of one file in a checkpoint.
type File struct {
	Key   string  `json:"key"`
	URI   string  `json:"uri"`
	Path  string  `json:"path,omitempty"`
	Steps []*Step `json:"steps"`
}

// Step is one change by the agent: from one content to another, each identified by its hash. An
// empty hash means that the file did not exist.
type Step struct {
	Pre      string        `json:"pre,omitempty"`
	Post     string        `json:"post,omitempty"`
	BOM      bool          `json:"bom,omitempty"`
	Encoding edit.Encoding `json:"encoding,omitempty"`
	Mode     fs.FileMode   `json:"mode,omitempty"`
	From     string        `json:"from,omitempty"` // key of the file's other name, after a rename
	Added    int           `json:"added,omitempty"`
	Removed  int           `json:"removed,omitempty"`
}

// Options configures a Log. All fields are required, except StateDir. Without it, checkpoints are
// kept in memory.
type Options struct {
	StateDir string
	Blobs    *files.Blobs
	Now      func() time.Time
	// Go runs f in a goroutine that the owner waits for. It returns false if it is too late to
	// start a goroutine.
	Go func(f func()) bool
	// Report is called with each error that occurs while state is stored. It must not block or call
	// back.
	Report func(error)
}

// Log stores the checkpoints of the sessions used so far. Its methods are safe for concurrent use.
// They read and write the state directory.
type Log struct {
	opt Options

	// mu is also held while a checkpoint is written, so that the steps of a session stay in order.
	mu        sync.Mutex
	sessions  map[string]*sessionLog
	keep      Retention
	collected bool // whether the first collection has begun
}

type sessionLog struct {
	list []*record // oldest first
}

// NewLog returns a Log. A Log need not be closed, because the owner of Go waits for its goroutines.
func NewLog(opt Options) *Log { return &Log{opt: opt, sessions: map[string]*sessionLog{}} }

// session returns a session's checkpoints. It loads them when they are first needed. The caller
// holds mu.
func (l *Log) session(id string) *sessionLog {
	if s := l.sessions[id]; s != nil {
		return s
	}
	s := &sessionLog{}
	l.sessions[id] = s
	if l.opt.StateDir == "" {
		return s
	}
	names, _ := filepath.Glob(filepath.Join(l.dir(id), "*.json"))
	for _, name := range names {
		cp := &record{}
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, cp) == nil {
			s.list = append(s.list, cp)
		}
	}
	slices.SortFunc(s.list, func(a, b *record) int { return a.Number - b.Number })
	return s
}

func (l *Log) dir(session string) string {
	return files.SessionDir(l.opt.StateDir, "checkpoints", session)
}

// Turn identifies the turn that a checkpoint belongs to.
type Turn struct {
	Session string
	ID      string
	Message string // the prompt's message ID
	Restore string // the id of a restore's own checkpoint; "" for all other turns
}

// current returns the checkpoint for a step. This is the newest checkpoint if it belongs to this
// turn, and otherwise a new one. The caller holds mu.
func (l *Log) current(t Turn) *record {
	s := l.session(t.Session)
	restore := t.Restore != ""
	if n := len(s.list); n > 0 {
		cp := s.list[n-1]
		if cp.Turn == t.ID && cp.Restore == restore && !cp.Undone &&
			(!restore || cp.ID == t.Restore) {
			return cp
		}
	}
	cp := &record{
		ID: t.Restore, Session: t.Session, Turn: t.ID, Message: t.Message, Created: l.opt.Now(),
		Restore: restore,
	}
	if !restore {
		cp.ID = NewID()
	}
	if n := len(s.list); n > 0 {
		cp.Number = s.list[n-1].Number + 1
	}
	s.list = append(s.list, cp)
	return cp
}

// NewID returns a new id for a checkpoint.
func NewID() string {
	var b [9]byte
	_, _ = rand.Read(b[:])
	return "c_" + hex.EncodeToString(b[:])
}

// file returns the entry of a file, and creates it if there is none.
func (cp *record) file(ref path.Ref) *File {
	for _, f := range cp.Files {
		if f.Key == ref.Key {
			return f
		}
	}
	f := &File{Key: ref.Key, URI: ref.URI, Path: ref.Path}
	cp.Files = append(cp.Files, f)
	return f
}

// save writes a checkpoint, or removes an empty one. The caller holds mu.
func (l *Log) save(cp *record) error {
	empty := len(cp.Files) == 0 && len(cp.NotCovered) == 0 && !cp.Restore
	if empty {
		s := l.session(cp.Session)
		s.list = slices.DeleteFunc(s.list, func(o *record) bool { return o == cp })
	}
	if l.opt.StateDir == "" {
		return nil
	}
	name := filepath.Join(l.dir(cp.Session), cp.ID+".json")
	if empty {
		return files.RemoveState(name)
	}
	data, err := json.Marshal(cp)
	if err != nil {
		return err
	}
	return files.WriteState(name, data)
}

// report reports an error to the owner. The caller may hold mu.
func (l *Log) report(err error) {
	if err != nil {
		l.opt.Report(err)
	}
}

// List returns a session's checkpoints of files, newest first.
func (l *Log) List(session string) []Checkpoint {
	return slices.DeleteFunc(l.All(session), func(c Checkpoint) bool {
		return c.Restore && len(c.Files) == 0 // it restored only the conversation
	})
}

// All returns a session's checkpoints, newest first, including those of restores that changed only
// the conversation.
func (l *Log) All(session string) []Checkpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Checkpoint
	for _, cp := range slices.Backward(l.session(session).list) {
		out = append(out, cp.view())
	}
	return out
}

func (cp *record) view() Checkpoint {
	v := Checkpoint{
		ID: cp.ID, SessionID: cp.Session, TurnID: cp.Turn, MessageID: cp.Message,
		CreatedAt: cp.Created,
		Restore:   cp.Restore, Undone: cp.Undone, NotCovered: slices.Clone(cp.NotCovered),
		Through: cp.Through,
	}
	for _, f := range cp.Files {
		v.Files = append(v.Files, f.URI)
		for _, s := range f.Steps {
			v.Stat.Added, v.Stat.Removed = v.Stat.Added+s.Added, v.Stat.Removed+s.Removed
		}
	}
	v.Stat.Files = len(cp.Files)
	return v
}

// find returns the session that contains a checkpoint, and the checkpoint's index in the session's
// list, or -1. The caller holds mu.
func (l *Log) find(id string) (*sessionLog, int) {
	for _, s := range l.sessions {
		if i := slices.IndexFunc(s.list, func(cp *record) bool { return cp.ID == id }); i >= 0 {
			return s, i
		}
	}
	if l.opt.StateDir == "" || strings.ContainsAny(id, `/\*?[`) {
		return nil, -1
	}
	names, _ := filepath.Glob(filepath.Join(l.opt.StateDir, "checkpoints", "*", id+".json"))
	for _, name := range names {
		cp := &record{}
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, cp) == nil {
			s := l.session(cp.Session)
			return s, slices.IndexFunc(s.list, func(o *record) bool { return o.ID == id })
		}
	}
	return nil, -1
}

// Get returns a checkpoint, or ErrUnknown.
func (l *Log) Get(id string) (Checkpoint, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, i := l.find(id)
	if i < 0 {
		return Checkpoint{}, fmt.Errorf("looking for checkpoint %s: %w", id, ErrUnknown)
	}
	return s.list[i].view(), nil
}

// KeepConversation records that a restore also shortened a session's conversation, and returns the
// ID of the checkpoint that undoes it. restoreID is the checkpoint of the restored files, or "" if
// no file changed. through is the ID of the last message before the restore.
func (l *Log) KeepConversation(session, restoreID, through string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var cp *record
	if s, i := l.find(restoreID); restoreID != "" && i >= 0 {
		cp = s.list[i]
	} else {
		cp = l.current(Turn{Session: session, Restore: NewID()})
	}
	cp.Through = &through
	return cp.ID, l.save(cp)
}

// content returns the content with the hash of a Step, or nil for "".
func (l *Log) content(sha string) ([]byte, error) {
	if sha == "" {
		return nil, nil
	}
	return l.opt.Blobs.Get(sha)
}

// LastPaths returns the paths of the files in a session's newest checkpoint.
func (l *Log) LastPaths(session string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var paths []string
	if list := l.session(session).list; len(list) > 0 {
		for _, f := range list[len(list)-1].Files {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// NotCovered records, in the checkpoint of a command's turn, the files that the command changed.
// began is the time at which the command began. If the command kept running during later turns,
// NotCovered uses the newest checkpoint created after that time.
func (l *Log) NotCovered(t Turn, began time.Time, names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cp := l.since(t, began)
	for _, name := range names {
		if !slices.Contains(cp.NotCovered, name) {
			cp.NotCovered = append(cp.NotCovered, name)
		}
	}
	l.report(l.save(cp))
}

// since returns the checkpoint that records the files that a command changed. The caller holds mu.
func (l *Log) since(t Turn, began time.Time) *record {
	if s := l.session(t.Session); len(s.list) > 0 {
		cp := s.list[len(s.list)-1]
		if !cp.Restore && !cp.Undone && cp.Turn != t.ID && !cp.Created.Before(began) {
			return cp
		}
	}
	return l.current(t)
}

// DropSession forgets a deleted session's checkpoints and removes them from the disk.
func (l *Log) DropSession(session string) {
	l.mu.Lock()
	delete(l.sessions, session)
	l.mu.Unlock()
	if l.opt.StateDir != "" {
		l.report(os.RemoveAll(l.dir(session)))
	}
}

// FirstContents returns the contents of a session's files before the session's first change, by
// path. A nil content means that the file did not exist. Files that are not UTF-8 are omitted.
func (l *Log) FirstContents(session string) (map[string][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string][]byte{}
	for _, cp := range l.session(session).list {
		for _, f := range cp.Files {
			if _, known := out[f.Path]; known || f.Path == "" || len(f.Steps) == 0 {
				continue
			}
			first := f.Steps[0]
			if !slices.Contains([]edit.Encoding{"", edit.UTF8}, first.Encoding) {
				continue
			}
			text, err := l.content(first.Pre)
			if err != nil {
				return out, fmt.Errorf("reading the earlier content of %s: %w", f.Path, err)
			}
			if first.BOM && first.Pre != "" {
				text = append([]byte("\xEF\xBB\xBF"), text...)
			}
			if text == nil && first.Pre != "" {
				text = []byte{}
			}
			out[f.Path] = text
		}
	}
	return out, nil
}
