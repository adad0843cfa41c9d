package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// Op is the effect of a change on a file.
type Op string

// The operations.
const (
	Modify Op = "modify"
	Create Op = "create"
	Delete Op = "delete"
	Rename Op = "rename"
)

// Policy determines who decides on an edit, and when (docs/reference/edits.md).
type Policy string

// The edit policies.
const (
	Ask     Policy = "ask"
	Review  Policy = "review"
	Collect Policy = "collect"
	Auto    Policy = "auto"
	Confirm Policy = "confirm"
)

// State is a proposal's state.
type State string

// The states of a proposal. StateProposed is pending, and so is StateConflict while a hunk is
// pending. The others are final, except that a stale hunk of a closed proposal can still be
// decided.
const (
	StateProposed   State = "proposed"
	StateApplied    State = "applied"
	StatePartial    State = "partiallyApplied"
	StateRejected   State = "rejected"
	StateWithdrawn  State = "withdrawn"
	StateConflict   State = "conflict"
	StateSuperseded State = "superseded"
)

// HunkState is a hunk's state.
type HunkState string

// The states of a hunk. While a decision is being applied, clients see the hunk as pending.
const (
	HunkPending  HunkState = "pending"
	HunkAccepted HunkState = "accepted"
	HunkRejected HunkState = "rejected"
	HunkStale    HunkState = "stale"
)

// Placement states whether the pending text is already in the buffer or file.
type Placement string

// The placements.
const (
	Proposed Placement = "proposed"
	Applied  Placement = "applied"
)

// The errors of decisions, for errors.Is and errors.As.
var (
	ErrUnknownProposal = errors.New("there is no such proposal")
	ErrUnknownHunk     = errors.New("the proposal has no such hunk")
	ErrNoChange        = errors.New("the text is already what the edit would produce; nothing to do")
	ErrBadDecision     = errors.New("the decision is not valid")
)

// StaleError means that a decision was made on an older revision. It contains the newest revision.
type StaleError struct{ Proposal Proposal }

func (e *StaleError) Error() string {
	return fmt.Sprintf("proposal %s has changed and is now at revision %d; review it again", e.Proposal.ID, e.Proposal.Revision)
}

// Proposal is a snapshot of a proposal in the form that agent/* messages contain.
type Proposal struct {
	ID        string       `json:"proposalId"`
	Revision  int          `json:"revision"`
	SessionID string       `json:"sessionId"`
	TurnID    string       `json:"turnId"`
	ItemID    string       `json:"itemId"`
	Title     string       `json:"title"`
	State     State        `json:"state"`
	Stat      Stat         `json:"stat"`
	Files     []FileChange `json:"files"`
	Policy    Policy       `json:"-"`
}

// FileChange is one file of a proposal.
type FileChange struct {
	Op        Op        `json:"op"`
	URI       string    `json:"uri"`
	NewURI    string    `json:"newUri,omitempty"`
	Placement Placement `json:"placement"`
	Version   *int32    `json:"version"`
	Base      Base      `json:"base"`
	Hunks     []Hunk    `json:"hunks"`
	Ref       Ref       `json:"-"`
}

// Base describes the text from which a change was computed.
type Base struct {
	SHA256 string `json:"sha256"`
	EOL    string `json:"eol"` // lf, crlf, cr, mixed or none
	BOM    bool   `json:"bom"`
}

// Hunk is one change that can be decided separately.
type Hunk struct {
	ID        string    `json:"hunkId"`
	Range     Range     `json:"range"`
	OldText   string    `json:"oldText"`
	NewText   string    `json:"newText"`
	State     HunkState `json:"state"`
	MatchTier string    `json:"matchTier"`
}

// proposal is guarded by Workspace.mu, except the fields that never change after Propose and those
// whose comments name another lock.
type proposal struct {
	origin
	sem  chan struct{} // held while a decision is in progress
	seen any           // the state that Options.Before returned; guarded by sem
	done chan struct{} // closed after the closing event was sent

	stored   sync.Mutex // orders writes of the stored form
	intent   []intended // the decision that is being applied; guarded by stored
	kept     bool       // whether the proposal has a stored form
	revision int
	phase    proposalPhase
	decided  bool // at least one hunk was decided
	teller   teller
	changes  []*change
	comment  string
	notes    []string  // formatting and check results, for the model
	diff     string    // the diff that was last shown
	reported string    // outcome that the model knows
	refused  []refusal // for a restore: files that cannot be changed; the others are changed anyway
}

// origin is the input of a proposal. It does not change after the proposal is registered.
type origin struct {
	id, session, turn, item, message, title string
	reader                                  string // session whose read records are updated
	policy                                  Policy
	kind                                    proposalKind
	created                                 time.Time
}

// proposalTable contains the proposals of all sessions. It is guarded by Workspace.mu.
type proposalTable struct {
	byID  map[string]*proposal
	order []*proposal // by creation
}

func (t *proposalTable) add(p *proposal) {
	t.byID[p.id] = p
	t.order = append(t.order, p)
}

// remove removes the proposals for which isGone returns true.
func (t *proposalTable) remove(isGone func(*proposal) bool) {
	t.order = slices.DeleteFunc(t.order, func(p *proposal) bool {
		gone := isGone(p)
		if gone {
			delete(t.byID, p.id)
		}
		return gone
	})
}

// change is one file of a proposal. Its offsets refer to the text of doc, or to the field text
// while no document is open.
type change struct {
	p           *proposal
	op          Op
	ref, newRef Ref
	applied     bool // placement
	base        Base
	rawSHA      string // hash of the bytes on disk, for compare-and-swap; "" if it must not exist
	enc         edit.Text
	mode        fs.FileMode
	doc         *document
	text        []byte
	index       *text.LineIndex
	hunks       []*hunk
	reason      string      // reason for the conflict
	version     *int32      // version of the document when the change ended
	left        []byte      // the text after the last apply, until the model has received it
	was         []HunkState // states of the hunks before the current notification; nil: no change
}

type hunk struct {
	id, tier   string
	start, end int
	old, new   []byte
	phase      hunkPhase
	byUser     []byte // the user's own text, nil if the hunk was accepted unchanged
	comment    string
	reason     string // why the hunk became stale or could not be applied
	place      Range  // position of the hunk when its change ended
	ordinal    int    // number of the hunk within the proposal, from 1
}

// basis is the text in the range of a pending hunk.
func (h *hunk) basis(applied bool) []byte {
	if applied {
		return h.new
	}
	return h.old
}

// stands returns the hunk's text that is currently in the file.
func (h *hunk) stands(applied bool) []byte {
	switch {
	case h.state() == HunkAccepted && h.byUser != nil:
		return h.byUser
	case h.state() == HunkAccepted:
		return h.new
	case h.state() == HunkRejected:
		return h.old
	case applied:
		return h.new
	}
	return h.old
}

// current returns the text to which the offsets refer, and its index. The caller holds mu.
func (c *change) current() ([]byte, *text.LineIndex) {
	if c.doc != nil {
		return c.doc.text, c.doc.index
	}
	return c.text, c.index
}

// view creates the snapshot for clients. The caller holds mu.
func (w *Workspace) view(p *proposal) Proposal {
	v := Proposal{
		ID: p.id, Revision: p.revision, SessionID: p.session, TurnID: p.turn, ItemID: p.item,
		Title: p.title, State: p.state(), Policy: p.policy,
		Files: make([]FileChange, 0, len(p.changes)),
	}
	for _, c := range p.changes {
		v.Files = append(v.Files, w.viewFile(c))
		for _, h := range c.hunks {
			v.Stat.Added += text.CountLines(h.new)
			v.Stat.Removed += text.CountLines(h.old)
		}
	}
	v.Stat.Files = len(p.changes)
	return v
}

func (w *Workspace) viewFile(c *change) FileChange {
	f := FileChange{
		Op: c.op, URI: c.ref.URI, Placement: Proposed, Base: c.base, Version: c.version, Ref: c.ref,
		Hunks: make([]Hunk, 0, len(c.hunks)),
	}
	if c.applied || c.allTaken() {
		f.Placement = Applied
	}
	if c.op == Rename {
		f.NewURI = c.newRef.URI
	}
	if c.doc != nil {
		v := c.doc.version
		f.Version, f.URI = &v, c.doc.uri
	}
	text, index := c.current()
	for _, h := range c.hunks {
		s := Hunk{
			ID: h.id, OldText: string(h.old), NewText: string(h.new), State: h.state(),
			MatchTier: h.tier,
			Range:     h.place,
		}
		if h.byUser != nil && h.state() == HunkAccepted {
			s.NewText = string(h.byUser)
		}
		if index != nil {
			s.Range = index.Range(text, h.start, h.end, w.encoding)
		}
		f.Hunks = append(f.Hunks, s)
	}
	return f
}

// allTaken reports whether the whole change was accepted, so that its text is final.
func (c *change) allTaken() bool {
	return !slices.ContainsFunc(c.hunks, func(h *hunk) bool { return h.state() != HunkAccepted })
}

// List returns the proposals that match. Empty arguments match all proposals.
func (w *Workspace) List(sessionID, uri string, state State) []Proposal {
	return w.list(sessionID, uri, func(p *proposal) bool {
		return state == "" ||
			p.state() == state
	})
}

func (w *Workspace) list(sessionID, uri string, wanted func(*proposal) bool) []Proposal {
	w.canonicalizeDocs()
	key := ""
	if uri != "" {
		key, _ = path.LexicalKey(uri)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Proposal
	for _, p := range w.proposals.order {
		if (sessionID == "" || p.session == sessionID) && (key == "" || p.touches(key)) &&
			wanted(p) {
			out = append(out, w.view(p))
		}
	}
	return out
}

func (p *proposal) touches(lexical string) bool {
	for _, c := range p.changes {
		for _, u := range []string{c.ref.URI, c.newRef.URI} {
			if k, _ := path.LexicalKey(u); k == lexical {
				return true
			}
		}
		if c.ref.Key == lexical || c.newRef.Key == lexical {
			return true
		}
	}
	return false
}

// ProposalSession returns the session of a proposal, or "" if there is no such proposal.
func (w *Workspace) ProposalSession(proposalID string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.proposals.byID[proposalID]; p != nil {
		return p.session
	}
	return ""
}

// Get returns a proposal and its unified diff (3 lines of context).
func (w *Workspace) Get(proposalID string) (Proposal, string, error) {
	w.canonicalizeDocs()
	w.mu.Lock()
	p := w.proposals.byID[proposalID]
	if p == nil {
		w.mu.Unlock()
		return Proposal{}, "", fmt.Errorf("reading proposal %s: %w", proposalID, ErrUnknownProposal)
	}
	v, sides := w.view(p), w.sides(p)
	diff := p.diff
	closed := p.closed()
	w.mu.Unlock()
	if !closed {
		diff = unified(sides)
	}
	return v, diff, nil
}

// Undecided returns the proposals that still wait for a decision, including those with a hunk in
// conflict. Empty arguments match all proposals.
func (w *Workspace) Undecided(sessionID, uri string) []Proposal {
	return w.list(sessionID, uri, func(p *proposal) bool { return !p.closed() })
}

// PendingAt returns the undecided proposals that change a document, each with only that document's
// file. Lenses, diagnostics and actions show them.
func (w *Workspace) PendingAt(uri string) []Proposal {
	var out []Proposal
	for _, p := range w.Undecided("", uri) {
		var files []FileChange
		for _, f := range p.Files {
			if k, _ := path.LexicalKey(uri); f.Ref.Key == k || f.URI == uri {
				files = append(files, f)
			}
		}
		if p.Files = files; len(files) > 0 {
			out = append(out, p)
		}
	}
	return out
}
