package workspace

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// A stamp says which content of a file a session has seen. An edit needs one that is still
// true: what the model does not know it cannot change well, and what the user changed
// meanwhile it must not undo.

// Limits of what stamps remember of contents, to say later what changed.
const (
	maxStampText  = 1 << 20
	maxStampTotal = 8 << 20
	maxSinceLines = 60
)

type stampKey struct{ session, key string }

type stamp struct {
	sha   string // of the decoded text, or of the bytes on disk
	text  []byte // nil if it is not kept
	whole bool   // all of it was seen, not only a part
	own   bool   // left by the session's own edit
}

type stamps struct {
	mu    sync.Mutex
	m     map[stampKey]stamp
	order []stampKey // oldest first, of those with text
	total int
}

// Stamp records that a session has seen the file as it is in f: all of it, or a part, which is
// enough to edit it and not to replace it.
func (w *Workspace) Stamp(sessionID string, f *File, whole bool) {
	w.stamps.put(stampKey{sessionID, f.Ref.Key}, stamp{sha: HashOf(f.Text.Data), text: f.Text.Data, whole: whole})
}

// StampRaw is Stamp for a part of a file on disk that was read as a stream; sha is the SHA-256
// of its bytes.
func (w *Workspace) StampRaw(sessionID string, ref Ref, sha string) {
	w.stamps.put(stampKey{sessionID, ref.Key}, stamp{sha: sha})
}

// DropStamp makes a fresh read of the file necessary before the session's next edit of it.
func (w *Workspace) DropStamp(sessionID string, ref Ref) {
	w.stamps.mu.Lock()
	defer w.stamps.mu.Unlock()
	w.stamps.drop(stampKey{sessionID, ref.Key})
}

// CheckStamp reports whether the session has seen the file as it is in f, a part of it or the
// whole. The error tells the model what to do: UnreadError, or ChangedError with what changed
// since. A note says that only the formatting of the session's own edit changed, which does not
// need a new read.
func (w *Workspace) CheckStamp(sessionID string, f *File, whole bool) (note string, err error) {
	k := stampKey{sessionID, f.Ref.Key}
	s, ok := w.stamps.get(k)
	switch {
	case !ok:
		return "", &UnreadError{Path: f.Ref.Rel}
	case s.sha == f.SHA256 || s.sha == HashOf(f.Text.Data):
	case s.own && s.text != nil && bytes.Equal(squeeze(s.text), squeeze(f.Text.Data)):
		w.stamps.put(k, stamp{sha: HashOf(f.Text.Data), text: f.Text.Data, whole: s.whole, own: true})
		note = f.Ref.Rel + " was formatted after the last edit."
	default:
		return "", since(f.Ref.Rel, s.text, f.Text.Data)
	}
	if whole && !s.whole {
		return "", &UnreadError{Path: f.Ref.Rel, Part: true}
	}
	return note, nil
}

// UnreadError means that a session would change a file that it has not seen.
type UnreadError struct {
	Path string
	Part bool // a part of it was seen, which is not enough
}

func (e *UnreadError) Error() string {
	if e.Part {
		return "replacing " + e.Path + ": only a part of it was read; read it whole first, or edit that part"
	}
	return "changing " + e.Path + ": read it first; an edit must know the file as it is now"
}

// squeeze drops white space, to tell whether only formatting differs.
func squeeze(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }

// since is the error of a file that a session saw as another text.
func since(name string, seen, now []byte) *ChangedError {
	e := &ChangedError{Path: name}
	if seen == nil {
		return e
	}
	diff := []byte(edit.Unified(name+" (as read)", name+" (now)", seen, now, 1))
	lines := bytes.SplitAfter(diff, []byte{'\n'})
	if e.Complete = len(lines) <= maxSinceLines; !e.Complete {
		diff = append(bytes.Join(lines[:maxSinceLines], nil), fmt.Sprintf("… %d more lines\n", len(lines)-maxSinceLines)...)
	}
	e.Since = string(diff)
	return e
}

// emptyHash is the hash of an empty file, which everybody knows whole.
var emptyHash = HashOf(nil)

// stampOwn refreshes the stamps of what a session's own proposal left in the files, now that
// the model is told of it. What happened to the files after that is not in the stamp. Caller
// holds mu.
func (w *Workspace) stampOwn(p *proposal) {
	for _, c := range p.changes {
		if c.left == nil || c.op == Delete {
			continue
		}
		key := c.ref.Key
		if c.op == Rename {
			key = c.newRef.Key
		}
		k := stampKey{p.reader, key}
		before, known := w.stamps.get(stampKey{p.reader, c.ref.Key})
		if !known {
			before, _ = w.stamps.get(k) // it went along with the file
		}
		whole := before.whole || c.op == Create || c.base.SHA256 == emptyHash
		w.stamps.put(k, stamp{sha: HashOf(c.left), text: c.left, whole: whole, own: true})
		c.left = nil
	}
}

func (s *stamps) get(k stampKey) (stamp, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.m[k]
	return st, ok
}

func (s *stamps) put(k stampKey, st stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(k, st)
}

// keep is put. Caller holds s.mu.
func (s *stamps) keep(k stampKey, st stamp) {
	s.drop(k)
	switch {
	case len(st.text) > maxStampText:
		st.text = nil
	case st.text != nil:
		s.order = append(s.order, k)
		s.total += len(st.text)
	}
	s.m[k] = st
	for s.total > maxStampTotal {
		old := s.m[s.order[0]]
		s.total -= len(old.text)
		old.text = nil
		s.m[s.order[0]] = old
		s.order = s.order[1:]
	}
}

// dropSession forgets all stamps of a session.
func (s *stamps) dropSession(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.m {
		if k.session == id {
			s.drop(k)
		}
	}
}

// drop forgets a stamp. Caller holds s.mu.
func (s *stamps) drop(k stampKey) {
	if st, ok := s.m[k]; ok && st.text != nil {
		s.total -= len(st.text)
		for i, o := range s.order {
			if o == k {
				s.order = append(s.order[:i:i], s.order[i+1:]...)
				break
			}
		}
	}
	delete(s.m, k)
}
