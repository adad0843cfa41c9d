package workspace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// Sides returns the base text and the proposed text of one file of a proposal, for a side-by-side
// view.
func (w *Workspace) Sides(proposalID, uri string) (base, proposed []byte, err error) {
	key, _ := path.LexicalKey(uri)
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.proposals.byID[proposalID]
	if p == nil {
		return nil, nil, fmt.Errorf("reading proposal %s: %w", proposalID, ErrUnknownProposal)
	}
	if p.closed() {
		return nil, nil, fmt.Errorf("reading proposal %s: it is %s; its diff shows what it changed",
			proposalID, p.state())
	}
	for _, s := range w.sides(p) {
		if k, _ := path.LexicalKey(s.uri); k == key || s.key == key {
			return s.old, s.text(), nil
		}
	}
	return nil, nil, fmt.Errorf("reading proposal %s: it does not touch %s", proposalID, uri)
}

// side contains one file's text without and with the open hunks.
type side struct {
	uri, key         string
	oldName, newName string
	old              []byte
	new              []byte
	hunks            []edit.Hunk // changes from old to new, if byHunks
	byHunks          bool        // new is nil, and old with hunks applied is used instead
}

// text returns the text with the open hunks.
func (s *side) text() []byte {
	if s.byHunks {
		return edit.ApplyHunks(s.old, s.hunks, nil)
	}
	return s.new
}

// sides computes both texts of every file. The texts do not change afterwards. The caller holds mu.
func (w *Workspace) sides(p *proposal) []side {
	var out []side
	for _, c := range p.changes {
		s := side{uri: c.ref.URI, key: c.ref.Key, oldName: c.ref.Rel, newName: c.ref.Rel}
		if c.op == Rename {
			s.newName = c.newRef.Rel
		}
		switch c.op {
		case Modify:
			s.byHunks = true
			s.old, s.hunks = c.without(func(h *hunk) bool { return h.state() == HunkPending })
		default:
			s.old, s.new = c.hunks[0].old, c.hunks[0].new
			if c.op == Create {
				s.oldName = "/dev/null"
			}
			if c.op == Delete {
				s.newName = "/dev/null"
			}
		}
		out = append(out, s)
	}
	return out
}

// without returns the file's text without the wanted hunks, and the replacements that these hunks
// make. The caller holds mu.
func (c *change) without(wanted func(*hunk) bool) (body []byte, hunks []edit.Hunk) {
	body = c.snapshot()
	var back []splice
	delta, at := 0, 0
	for _, h := range c.inOrder(wanted) {
		if h.start < at || h.end > len(body) {
			continue // a later change was merged with it, so it cannot be shown separately
		}
		at = h.end
		start := h.start + delta
		if c.applied || h.state() == HunkAccepted {
			back = append(back, splice{Start: h.start, End: h.end, Text: h.old})
			// The text in the range may be longer than the accepted text.
			delta += len(h.old) - (h.end - h.start)
			hunks = append(hunks, edit.Hunk{BaseStart: start, BaseEnd: start + len(h.old),
				New: h.stands(c.applied)})
		} else {
			hunks = append(hunks, edit.Hunk{BaseStart: start, BaseEnd: start + h.end - h.start,
				New: h.new})
		}
	}
	if len(back) > 0 {
		body = text.Apply(body, back)
	}
	return body, hunks
}

// inOrder returns the wanted hunks by position, because a hunk whose text was moved has a new
// position.
func (c *change) inOrder(wanted func(*hunk) bool) []*hunk {
	out := make([]*hunk, 0, len(c.hunks))
	for _, h := range c.hunks {
		if wanted(h) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b *hunk) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return a.end - b.end
	})
	return out
}

// snapshot returns the text to which the offsets refer. This copy no longer changes. The caller
// holds mu.
func (c *change) snapshot() []byte {
	if c.doc != nil {
		return c.doc.snapshot()
	}
	return c.text
}

// texts returns the file without and with its open hunks. The caller holds mu.
func (c *change) texts() (without, with []byte) {
	text, hunks := c.without(func(h *hunk) bool { return h.state() == HunkPending })
	return text, edit.ApplyHunks(text, hunks, nil)
}

func unified(sides []side) string {
	var out strings.Builder
	for _, s := range sides {
		if s.oldName != s.newName && s.oldName != "/dev/null" && s.newName != "/dev/null" {
			fmt.Fprintf(&out, "rename from %s\nrename to %s\n", s.oldName, s.newName)
		}
		diff := ""
		switch {
		case s.byHunks:
			diff = edit.UnifiedHunks(s.oldName, s.newName, s.old, s.hunks, diffContext)
		case len(s.old) == 0 || len(s.new) == 0:
			diff = edit.UnifiedHunks(s.oldName, s.newName, s.old, wholeHunk(s.old, s.new),
				diffContext)
		default:
			diff = edit.Unified(s.oldName, s.newName, s.old, s.new, diffContext)
		}
		if len(sides) == 1 && out.Len() == 0 {
			return diff
		}
		out.WriteString(diff)
	}
	return out.String()
}

// wholeHunk returns a single hunk that turns one text into another, or no hunk if they are equal.
func wholeHunk(old, new []byte) []edit.Hunk {
	if bytes.Equal(old, new) {
		return nil
	}
	return []edit.Hunk{{BaseEnd: len(old), New: new}}
}

// diffContext is the number of context lines of a unified diff.
const diffContext = 3
