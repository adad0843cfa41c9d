package workspace

import (
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
)

// A checkpoint holds what a turn did to each file that it touched: pairs of contents before
// and after, as steps. Nothing scans the tree and no version control is involved, so its
// cost is that of the bytes touched. Going back undoes the steps from the newest to the
// oldest, each by a merge with what the file holds now; what the user did before, between
// and after them is nobody's step and therefore stays.
//
// The contents before, and those that the change is going to leave, are safe on disk before
// the first byte of a file changes.

// ErrUnknownCheckpoint means that there is no such checkpoint, or no longer.
var ErrUnknownCheckpoint = errors.New("there is no such checkpoint")

// Checkpoint describes one checkpoint.
type Checkpoint struct {
	ID         string
	SessionID  string
	TurnID     string
	MessageID  string
	CreatedAt  time.Time
	Files      []string // URIs
	Stat       Stat
	Restore    bool     // made by a restore; restoring it brings back what that undid
	Undone     bool     // a restore took its changes back
	NotCovered []string // changed by commands: no checkpoint can undo that
}

// checkpoint is the stored form.
type checkpoint struct {
	ID         string     `json:"id"`
	Session    string     `json:"session"`
	Turn       string     `json:"turn,omitempty"`
	Message    string     `json:"message,omitempty"`
	Created    time.Time  `json:"created"`
	Number     int        `json:"number"`
	Files      []*fileLog `json:"files,omitempty"`
	Restore    bool       `json:"restore,omitempty"`
	Undone     bool       `json:"undone,omitempty"`
	Undid      []string   `json:"undid,omitempty"` // by a restore: what it took back
	Redid      []string   `json:"redid,omitempty"` // and what it brought back
	NotCovered []string   `json:"notCovered,omitempty"`
}

// fileLog is what a checkpoint knows of one file.
type fileLog struct {
	Key   string      `json:"key"`
	URI   string      `json:"uri"`
	Path  string      `json:"path,omitempty"`
	Steps []*fileStep `json:"steps"`
}

// fileStep is one change by the agent: from one content to another; "" is no file.
type fileStep struct {
	Pre      string        `json:"pre,omitempty"`
	Post     string        `json:"post,omitempty"`
	BOM      bool          `json:"bom,omitempty"`
	Encoding edit.Encoding `json:"encoding,omitempty"`
	Mode     fs.FileMode   `json:"mode,omitempty"`
	From     string        `json:"from,omitempty"` // of a file renamed to this name, or brought back to it: the key of the other one
	Added    int           `json:"added,omitempty"`
	Removed  int           `json:"removed,omitempty"`
}

// touch is a step under way.
type touch struct {
	cp    *checkpoint
	log   *fileLog
	step  *fileStep
	was   fileStep // as it was before this touch extended it; zero if it is new
	fresh bool
}

// checkpointLog holds the checkpoints of the sessions used so far.
type checkpointLog struct {
	mu        sync.Mutex // also held while a checkpoint is written: touches of a session come in order
	sessions  map[string]*sessionLog
	keep      Retention
	collected bool // the first collection has begun
}

type sessionLog struct {
	list []*checkpoint // oldest first
}

// log loads a session's checkpoints. Caller holds checkpoints.mu.
func (w *Workspace) log(sessionID string) *sessionLog {
	if l := w.checkpoints.sessions[sessionID]; l != nil {
		return l
	}
	l := &sessionLog{}
	w.checkpoints.sessions[sessionID] = l
	if w.opt.StateDir == "" {
		return l
	}
	names, _ := filepath.Glob(filepath.Join(w.sessionDir("checkpoints", sessionID), "*.json"))
	for _, name := range names {
		cp := &checkpoint{}
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, cp) == nil {
			l.list = append(l.list, cp)
		}
	}
	slices.SortFunc(l.list, func(a, b *checkpoint) int { return a.Number - b.Number })
	return l
}

// current returns the checkpoint that a touch belongs to: the newest, if it is this turn's.
func (w *Workspace) currentCheckpoint(p *proposal) *checkpoint {
	l := w.log(p.session)
	if n := len(l.list); n > 0 {
		if cp := l.list[n-1]; cp.Turn == p.turn && cp.Restore == p.restore && !cp.Undone && (!p.restore || cp.ID == p.id) {
			return cp
		}
	}
	cp := &checkpoint{ID: newID("c"), Session: p.session, Turn: p.turn, Message: p.message, Created: w.opt.Now(), Restore: p.restore}
	if p.restore {
		cp.ID = p.id
	}
	if n := len(l.list); n > 0 {
		cp.Number = l.list[n-1].Number + 1
	}
	l.list = append(l.list, cp)
	return cp
}

func (cp *checkpoint) file(ref Ref) *fileLog {
	for _, f := range cp.Files {
		if f.Key == ref.Key {
			return f
		}
	}
	f := &fileLog{Key: ref.Key, URI: ref.URI, Path: ref.Path}
	cp.Files = append(cp.Files, f)
	return f
}

// keepBefore keeps what the targets hold and are going to hold, before they are touched.
func (w *Workspace) keepBefore(p *proposal, ts []*target) {
	ts = live(ts)
	if len(ts) == 0 {
		return
	}
	w.checkpoints.mu.Lock()
	defer w.checkpoints.mu.Unlock()
	if !w.checkpoints.collected {
		w.checkpoints.collected = w.spawn(func() { w.collectGarbage(w.opt.Now()) })
	}
	var cp *checkpoint
	for _, t := range ts {
		steps, err := w.stepsOf(t)
		if err != nil {
			t.end(failed, "the checkpoint could not be kept: "+err.Error())
			continue
		}
		if cp == nil {
			cp = w.currentCheckpoint(p)
		}
		w.revert(t)
		for ref, s := range steps {
			t.touched = append(t.touched, cp.add(ref, s))
		}
	}
	if cp == nil {
		return
	}
	if err := w.saveCheckpoint(cp); err != nil {
		for _, t := range live(ts) {
			t.end(failed, "the checkpoint could not be kept: "+err.Error())
		}
	}
}

// keepLate keeps the step of an apply that arrived after it had been given up.
func (w *Workspace) keepLate(p *proposal, b *bufferWatch) {
	pre, err := w.blobs.put(b.t.base)
	if err == nil {
		var post string
		if post, err = w.blobs.put(b.expected); err == nil {
			w.checkpoints.mu.Lock()
			defer w.checkpoints.mu.Unlock()
			cp := w.currentCheckpoint(p)
			cp.add(b.c.ref, &fileStep{Pre: pre, Post: post, BOM: b.c.enc.BOM, Encoding: b.c.enc.Encoding, Mode: b.c.mode})
			err = w.saveCheckpoint(cp)
		}
	}
	w.reportState(err)
}

// add begins a step, or extends the last one if nobody changed the file since.
func (cp *checkpoint) add(ref Ref, s *fileStep) touch {
	f := cp.file(ref)
	if n := len(f.Steps); n > 0 && f.Steps[n-1].Post == s.Pre && s.Pre != "" {
		last := f.Steps[n-1]
		t := touch{cp: cp, log: f, step: last, was: *last}
		last.Post = s.Post
		last.Added, last.Removed = last.Added+s.Added, last.Removed+s.Removed
		return t
	}
	f.Steps = append(f.Steps, s)
	return touch{cp: cp, log: f, step: s, fresh: true}
}

// stepsOf keeps the contents of a target's step: one file, or two for a rename.
func (w *Workspace) stepsOf(t *target) (map[Ref]*fileStep, error) {
	c := t.c
	h := t.wants[0].h
	pre, post := t.base, t.after
	if c.op != Modify {
		pre, post = h.old, t.wants[0].text
		if c.applied {
			pre, post = h.new, h.old
		}
	}
	has := func(yes bool, text []byte) (string, error) {
		if !yes {
			return "", nil
		}
		return w.blobs.put(text)
	}
	made, gone := c.op == Create && !c.applied || c.op == Delete && c.applied, c.op == Delete && !c.applied || c.op == Create && c.applied
	var before, after string
	var errBefore, errAfter error
	var wg sync.WaitGroup
	wg.Go(func() { before, errBefore = has(!made, pre) })
	after, errAfter = has(!gone, post)
	wg.Wait()
	if err := errors.Join(errBefore, errAfter); err != nil {
		return nil, err
	}
	s := &fileStep{Pre: before, Post: after, BOM: c.enc.BOM, Encoding: c.enc.Encoding, Mode: c.mode, From: t.from}
	for _, wt := range t.wants {
		s.Added, s.Removed = s.Added+countLines(wt.text), s.Removed+countLines(wt.h.stands(c.applied))
	}
	if c.op != Rename {
		return map[Ref]*fileStep{c.ref: s}, nil
	}
	from, to := c.renaming()
	leave, arrive := *s, *s
	leave.Post, arrive.Pre, arrive.From = "", "", from.Key
	return map[Ref]*fileStep{from: &leave, to: &arrive}, nil
}

// revert takes back the touches of an attempt that left the file as it was.
func (w *Workspace) revert(t *target) {
	for _, k := range t.touched {
		if k.fresh {
			k.log.Steps = slices.DeleteFunc(k.log.Steps, func(s *fileStep) bool { return s == k.step })
		} else {
			*k.step = k.was
		}
		if len(k.log.Steps) == 0 {
			k.cp.Files = slices.DeleteFunc(k.cp.Files, func(f *fileLog) bool { return f == k.log })
		}
	}
	t.touched = nil
}

// keepAfter drops what did not happen.
func (w *Workspace) keepAfter(p *proposal, ts []*target) {
	w.checkpoints.mu.Lock()
	defer w.checkpoints.mu.Unlock()
	var cp *checkpoint
	for _, t := range ts {
		if len(t.touched) == 0 || t.status == done || t.status == conflict && t.c.op == Modify {
			continue
		}
		cp = t.touched[0].cp
		w.revert(t)
	}
	if cp != nil {
		w.reportState(w.saveCheckpoint(cp))
	}
}

// saveCheckpoint writes a checkpoint, or removes an empty one. Caller holds checkpoints.mu.
func (w *Workspace) saveCheckpoint(cp *checkpoint) error {
	empty := len(cp.Files) == 0 && len(cp.NotCovered) == 0 && !cp.Restore
	if empty {
		l := w.log(cp.Session)
		l.list = slices.DeleteFunc(l.list, func(o *checkpoint) bool { return o == cp })
	}
	if w.opt.StateDir == "" {
		return nil
	}
	path := filepath.Join(w.sessionDir("checkpoints", cp.Session), cp.ID+".json")
	if empty {
		return removeIfThere(path)
	}
	data, err := json.Marshal(cp)
	if err != nil {
		return err
	}
	return writeState(path, data)
}

// reportState tells the user once per problem that state could not be kept.
func (w *Workspace) reportState(err error) {
	if err != nil {
		w.notice("error", "keeping checkpoints and proposals: "+err.Error())
	}
}

// Checkpoints lists a session's checkpoints, newest first.
func (w *Workspace) Checkpoints(sessionID string) []Checkpoint {
	w.checkpoints.mu.Lock()
	defer w.checkpoints.mu.Unlock()
	var out []Checkpoint
	for _, cp := range slices.Backward(w.log(sessionID).list) {
		out = append(out, cp.view())
	}
	return out
}

func (cp *checkpoint) view() Checkpoint {
	v := Checkpoint{
		ID: cp.ID, SessionID: cp.Session, TurnID: cp.Turn, MessageID: cp.Message, CreatedAt: cp.Created,
		Restore: cp.Restore, Undone: cp.Undone, NotCovered: slices.Clone(cp.NotCovered),
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

// findCheckpoint returns a checkpoint and its place in its session's list. Caller holds
// checkpoints.mu.
func (w *Workspace) findCheckpoint(id string) (*sessionLog, int) {
	for _, l := range w.checkpoints.sessions {
		if i := slices.IndexFunc(l.list, func(cp *checkpoint) bool { return cp.ID == id }); i >= 0 {
			return l, i
		}
	}
	if w.opt.StateDir == "" || strings.ContainsAny(id, `/\*?[`) {
		return nil, -1
	}
	names, _ := filepath.Glob(filepath.Join(w.opt.StateDir, "checkpoints", "*", id+".json"))
	for _, name := range names {
		cp := &checkpoint{}
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, cp) == nil {
			l := w.log(cp.Session)
			return l, slices.IndexFunc(l.list, func(o *checkpoint) bool { return o.ID == id })
		}
	}
	return nil, -1
}

// CheckpointSession returns the session that a checkpoint belongs to.
func (w *Workspace) CheckpointSession(checkpointID string) (sessionID, messageID string, err error) {
	w.checkpoints.mu.Lock()
	defer w.checkpoints.mu.Unlock()
	l, i := w.findCheckpoint(checkpointID)
	if i < 0 {
		return "", "", fmt.Errorf("looking for checkpoint %s: %w", checkpointID, ErrUnknownCheckpoint)
	}
	return l.list[i].Session, l.list[i].Message, nil
}

// CheckpointDiff returns what a checkpoint's turn did to its files, as a unified diff.
func (w *Workspace) CheckpointDiff(checkpointID string) (string, error) {
	w.checkpoints.mu.Lock()
	l, i := w.findCheckpoint(checkpointID)
	if i < 0 {
		w.checkpoints.mu.Unlock()
		return "", fmt.Errorf("comparing with checkpoint %s: %w", checkpointID, ErrUnknownCheckpoint)
	}
	cp := l.list[i]
	var files []fileLog
	for _, f := range cp.Files {
		files = append(files, fileLog{Key: f.Key, URI: f.URI, Path: f.Path, Steps: slices.Clone(f.Steps)})
	}
	notCovered := slices.Clone(cp.NotCovered)
	w.checkpoints.mu.Unlock()
	var sides []side
	for _, f := range files {
		for _, s := range f.Steps {
			one, err := w.stepSide(f, s)
			if err != nil {
				return "", err
			}
			sides = append(sides, one)
		}
	}
	diff := unified(sides)
	for _, n := range notCovered {
		diff += "# changed by a command, not covered: " + n + "\n"
	}
	return diff, nil
}

func (w *Workspace) stepSide(f fileLog, s *fileStep) (side, error) {
	name := f.URI
	if f.Path != "" {
		if ref, err := w.Resolve("", f.Path); err == nil {
			name = ref.Rel
		}
	}
	out := side{oldName: name, newName: name}
	var err error
	if out.old, err = w.content(s.Pre); err != nil {
		return out, err
	}
	if out.new, err = w.content(s.Post); err != nil {
		return out, err
	}
	if s.Pre == "" {
		out.oldName = "/dev/null"
	}
	if s.Post == "" {
		out.newName = "/dev/null"
	}
	return out, nil
}

func (w *Workspace) content(sha string) ([]byte, error) {
	if sha == "" {
		return nil, nil
	}
	return w.blobs.get(sha)
}
