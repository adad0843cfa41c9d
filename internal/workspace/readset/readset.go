// Package readset records which content of a file each session has read. An edit needs a record
// that matches the current content, because a model cannot correctly change text that it has not
// read, and must not undo later changes by the user.
//
// Set has the only lock of the package. The lock is held only while maps are accessed, never during
// disk access or a comparison, so that a caller may hold any other lock. The package does not know
// about documents or proposals.
package readset

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// Limits, in bytes and lines, of the texts that are kept to report changes later.
const (
	maxText       = 1 << 20
	maxTotal      = 8 << 20
	maxSinceLines = 60
)

// Record describes what one session knows about one file. Text is shared, so its bytes must not be
// changed.
type Record struct {
	SHA   string // hash of the decoded text, or of the bytes on disk
	Text  []byte // nil if the text is not kept
	Whole bool   // all of the file was read, not only a part
	Own   bool   // the record is from the session's own edit
}

type id struct{ session, key string }

// Set contains the records of all sessions. Its methods are safe for concurrent use and block only
// on each other.
type Set struct {
	mu    sync.Mutex
	m     map[id]Record
	order []id // records whose text is kept, oldest first
	total int  // total bytes of all texts
}

// New returns an empty set.
func New() *Set { return &Set{m: map[id]Record{}} }

// Now is a file's state at the time of a check.
type Now struct {
	Key, Name string // identity of the file, and its name for the model
	SHA256    string // hash of the bytes on disk, or of the buffer's text
	Text      []byte // decoded
}

// Check returns an error unless the session has read the current content of the file: a part of it,
// or all of it if whole is set. The error, an UnreadError or a ChangedError, explains to the model
// what to do. A ChangedError contains the changes since the read if they are known. A note reports
// that only the formatting of the session's own edit changed, which requires no new read.
func (s *Set) Check(session string, now Now, whole bool) (note string, err error) {
	r, ok := s.Get(session, now.Key)
	switch {
	case !ok:
		return "", &UnreadError{Path: now.Name}
	case r.SHA == now.SHA256 || r.SHA == files.Hash(now.Text):
	case r.Own && r.Text != nil && bytes.Equal(squeeze(r.Text), squeeze(now.Text)):
		s.Put(session, now.Key, Record{SHA: files.Hash(now.Text), Text: now.Text, Whole: r.Whole,
			Own: true})
		note = now.Name + " was formatted after the last edit."
	default:
		return "", since(now.Name, r.Text, now.Text)
	}
	if whole && !r.Whole {
		return "", &UnreadError{Path: now.Name, Part: true}
	}
	return note, nil
}

// Get returns a session's record of the file with the given key.
func (s *Set) Get(session, key string) (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.m[id{session, key}]
	return r, ok
}

// Put replaces a session's record. It does not keep the text of a large file, and forgets the
// oldest texts when all texts together use too much memory.
func (s *Set) Put(session, key string, r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(id{session, key}, r)
}

// put is Put for a caller that holds mu.
func (s *Set) put(k id, r Record) {
	s.drop(k)
	switch {
	case len(r.Text) > maxText:
		r.Text = nil
	case r.Text != nil:
		s.order = append(s.order, k)
		s.total += len(r.Text)
	}
	s.m[k] = r
	for s.total > maxTotal {
		old := s.m[s.order[0]]
		s.total -= len(old.Text)
		old.Text = nil
		s.m[s.order[0]] = old
		s.order = s.order[1:]
	}
}

// Keys returns the keys of all files of which a session has a record, in no particular order.
func (s *Set) Keys(session string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for k := range s.m {
		if k.session == session {
			out = append(out, k.key)
		}
	}
	return out
}

// Rename moves the records of a file, or of all files below a folder, to its new path.
func (s *Set) Rename(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := map[id]Record{}
	for k, r := range s.m {
		if _, ok := path.Within(from, k.key); ok {
			gone[k] = r
		}
	}
	for k := range gone {
		s.drop(k)
	}
	for k, r := range gone {
		rel, _ := path.Within(from, k.key)
		s.put(id{k.session, path.Key(filepath.Join(to, rel))}, r)
	}
}

// Drop forgets a session's record of a file.
func (s *Set) Drop(session, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id{session, key})
}

// DropSession forgets all records of a session.
func (s *Set) DropSession(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.m {
		if k.session == session {
			s.drop(k)
		}
	}
}

// drop forgets a record. The caller holds mu.
func (s *Set) drop(k id) {
	if r, ok := s.m[k]; ok && r.Text != nil {
		s.total -= len(r.Text)
		for i, o := range s.order {
			if o == k {
				s.order = append(s.order[:i:i], s.order[i+1:]...)
				break
			}
		}
	}
	delete(s.m, k)
}

// UnreadError means that a session would change a file that it has not read.
type UnreadError struct {
	Path string
	Part bool // only a part of the file was read, which is not enough
}

func (e *UnreadError) Error() string {
	if e.Part {
		return "replacing " + e.Path +
			": only a part of it was read; read it whole first, or edit that part"
	}
	return "changing " + e.Path + ": read it first; an edit must be based on the file's current content"
}

// ChangedError means that a file differs from the text from which an edit was computed. Since is a
// diff of the changes, or "" if they are not known. Complete means that Since shows all of them.
type ChangedError struct {
	Path, Since string
	Complete    bool
}

func (e *ChangedError) Error() string {
	msg := e.Path + " has changed since it was read; read it again"
	if e.Since != "" {
		msg += ". What changed:\n" + e.Since
	}
	return msg
}

// squeeze removes white space, to find out whether only formatting differs.
func squeeze(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }

// since returns the error for a file that a session saw with other content.
func since(name string, seen, now []byte) *ChangedError {
	e := &ChangedError{Path: name}
	if seen == nil {
		return e
	}
	diff := []byte(edit.Unified(name+" (as read)", name+" (now)", seen, now, 1))
	lines := bytes.SplitAfter(diff, []byte{'\n'})
	if e.Complete = len(lines) <= maxSinceLines; !e.Complete {
		diff = append(bytes.Join(lines[:maxSinceLines], nil),
			fmt.Sprintf("… %d more lines\n", len(lines)-maxSinceLines)...)
	}
	e.Since = string(diff)
	return e
}
