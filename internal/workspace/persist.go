package workspace

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// Each proposal is stored in its own file. The file is written when the proposal is made, again
// with the intent before the first workspace file changes, and again with the result. If the
// daemon crashes between the last two writes, the content of each workspace file shows whether the
// intent was carried out.

type storedProposal struct {
	ID       string         `json:"id"`
	Session  string         `json:"session"`
	Turn     string         `json:"turn,omitempty"`
	Item     string         `json:"item,omitempty"`
	Message  string         `json:"message,omitempty"`
	Title    string         `json:"title,omitempty"`
	Policy   Policy         `json:"policy"`
	Created  time.Time      `json:"created"`
	Revision int            `json:"revision"`
	State    State          `json:"state"`
	Closed   bool           `json:"closed,omitempty"`
	Decided  bool           `json:"decided,omitempty"`
	Comment  string         `json:"comment,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
	Reported string         `json:"told,omitempty"`
	Diff     string         `json:"diff,omitempty"`
	Changes  []storedChange `json:"changes"`
}

type storedChange struct {
	Op       Op            `json:"op"`
	URI      string        `json:"uri"`
	Path     string        `json:"path,omitempty"`
	NewPath  string        `json:"newPath,omitempty"`
	Applied  bool          `json:"applied,omitempty"`
	Base     Base          `json:"base"`
	RawSHA   string        `json:"rawSha,omitempty"`
	BOM      bool          `json:"bom,omitempty"`
	Encoding edit.Encoding `json:"encoding,omitempty"`
	Mode     fs.FileMode   `json:"mode,omitempty"`
	TextSHA  string        `json:"textSha"`          // hash of the text to which the offsets refer
	Intent   string        `json:"intent,omitempty"` // hash of the text that was about to be written
	Reason   string        `json:"reason,omitempty"` // reason for the conflict
	Hunks    []storedHunk  `json:"hunks"`
}

type storedHunk struct {
	ID        string    `json:"id"`
	Tier      string    `json:"tier,omitempty"`
	Start     int       `json:"start"`
	End       int       `json:"end"`
	Old       []byte    `json:"old"`
	New       []byte    `json:"new"`
	State     HunkState `json:"state"`
	ByUser    []byte    `json:"byUser,omitempty"`
	HasByUser bool      `json:"hasByUser,omitempty"`
	Comment   string    `json:"comment,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	// Before and After are the surrounding text, to find an insertion again.
	Before  []byte `json:"before,omitempty"`
	After   []byte `json:"after,omitempty"`
	Want    []byte `json:"want,omitempty"` // the text that was about to be written
	HasWant bool   `json:"hasWant,omitempty"`
	Missing bool   `json:"missing,omitempty"`
}

// anchorSize is how much text around a hunk is stored to find the hunk again after a restart.
const anchorSize = 120

// persist stores a proposal's state, or removes the stored state when it is no longer needed.
func (w *Workspace) persist(p *proposal) { w.reportState(w.store(p)) }

// persistIntent stores the planned changes of live targets. They stay in the stored form of p until
// persistDone.
func (w *Workspace) persistIntent(p *proposal, targets []*target) {
	intent := make([]intended, len(targets))
	for i, t := range targets {
		intent[i] = intendedOf(t)
	}
	p.intend(intent)
	w.persist(p)
}

// persistDone stores a proposal without planned changes.
func (w *Workspace) persistDone(p *proposal) {
	p.intend(nil)
	w.persist(p)
}

func (p *proposal) intend(intent []intended) {
	p.stored.Lock()
	defer p.stored.Unlock()
	p.intent = intent
}

func (w *Workspace) store(p *proposal) error {
	if w.opt.StateDir == "" || p.policy == Auto || p.kind == restoreProposal {
		return nil
	}
	p.stored.Lock()
	defer p.stored.Unlock()
	w.mu.Lock()
	p.kept = w.proposals.byID[p.id] == p && (!p.closed() || p.decided && p.report() != p.reported)
	if !p.kept {
		w.mu.Unlock()
		return files.RemoveState(w.storedPath(p))
	}
	s := p.toStored()
	w.mu.Unlock()
	for _, i := range p.intent {
		s.intend(p, i)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return files.WriteState(w.storedPath(p), data)
}

func (w *Workspace) storedPath(p *proposal) string {
	return filepath.Join(w.sessionDir("proposals", p.session), p.id+".json")
}

// toStored copies a proposal. The caller holds mu.
func (p *proposal) toStored() *storedProposal {
	s := &storedProposal{
		ID: p.id, Session: p.session, Turn: p.turn, Item: p.item, Message: p.message,
		Title:  p.title,
		Policy: p.policy, Created: p.created, Revision: p.revision, State: p.state(),
		Closed:  p.closed(),
		Decided: p.decided, Comment: p.comment, Notes: slices.Clone(p.notes), Reported: p.reported,
	}
	if p.closed() {
		s.Diff = p.diff
	}
	for _, c := range p.changes {
		text, _ := c.current()
		sc := storedChange{
			Op: c.op, URI: c.ref.URI, Path: c.ref.Path, NewPath: c.newRef.Path, Applied: c.applied,
			Base:   c.base,
			RawSHA: c.rawSHA, BOM: c.enc.BOM, Encoding: c.enc.Encoding, Mode: c.mode,
			TextSHA: HashOf(text), Reason: c.reason,
		}
		for _, h := range c.hunks {
			before, after := anchors(text, h)
			sc.Hunks = append(sc.Hunks, storedHunk{
				ID: h.id, Tier: h.tier, Start: h.start, End: h.end, Old: h.old, New: h.new,
				State: h.state(), ByUser: h.byUser,
				HasByUser: h.byUser != nil, Comment: h.comment, Reason: h.reason, Before: before,
				After: after, Missing: h.phase == hunkMissing,
			})
		}
		s.Changes = append(s.Changes, sc)
	}
	return s
}

func anchors(text []byte, h *hunk) (before, after []byte) {
	if h.end > len(text) || !h.open() {
		return nil, nil
	}
	return bytes.Clone(text[max(0, h.start-anchorSize):h.start]),
		bytes.Clone(text[h.end:min(len(text), h.end+anchorSize)])
}

// intended is the planned change to a file.
type intended struct {
	c     *change
	to    string // hash (HashOf) of the file's expected content
	wants []want
}

func intendedOf(t *target) intended {
	i := intended{c: t.c, to: HashOf(t.after), wants: slices.Clone(t.wants)}
	if t.c.op != Modify {
		i.to = HashOf(t.wants[0].text)
	}
	return i
}

// intend adds a planned change.
func (s *storedProposal) intend(p *proposal, intent intended) {
	for i, c := range p.changes {
		if c != intent.c {
			continue
		}
		s.Changes[i].Intent = intent.to
		for j, h := range c.hunks {
			for _, wt := range intent.wants {
				if wt.h == h {
					s.Changes[i].Hunks[j].Want, s.Changes[i].Hunks[j].HasWant = wt.text, true
				}
			}
		}
	}
}

// StoredPending returns the ID of the stored, undecided proposal of a call's item, or "" if there
// is none. It changes nothing.
func (w *Workspace) StoredPending(sessionID, itemID string) string {
	if w.opt.StateDir == "" {
		return ""
	}
	names, err := filepath.Glob(filepath.Join(w.sessionDir("proposals", sessionID), "*.json"))
	if err != nil {
		return ""
	}
	for _, name := range names {
		var s storedProposal
		data, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(data, &s) == nil && s.Item == itemID && !s.Closed {
			return s.ID
		}
	}
	return ""
}

// forgetSession removes a deleted session's proposals and checkpoints.
func (w *Workspace) forgetSession(sessionID string) {
	w.mu.Lock()
	w.proposals.remove(func(p *proposal) bool { return p.session == sessionID })
	w.mu.Unlock()
	w.checkpoints.DropSession(sessionID)
	if w.opt.StateDir != "" {
		w.reportState(os.RemoveAll(w.sessionDir("proposals", sessionID)))
	}
}
