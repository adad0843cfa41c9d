package history

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Thresholds of the emergency reducer.
const (
	emergencyResult = 1500 // a longer result is cut to the two sizes below, in runes
	emergencyHead   = 750
	emergencyTail   = 500
	emergencyOld    = 1200 // a longer old message is cut to the two sizes below, in runes
	emergencyOHead  = 600
	emergencyOTail  = 400
	smallestResult  = 200 // minimum number of runes of a result that remain after cutting
)

// emergency cuts long texts, oldest first, then drops the oldest units, and then cuts the remaining
// results further, until the target is met. It does not change the last user message or pinned
// messages.
type emergency struct{}

func (emergency) Name() string { return Emergency }

func (emergency) Reduce(_ context.Context, in *Input) ([]*message.Message, error) {
	e := newEdit(in)
	cutResults(in, e, emergencyResult, emergencyHead, emergencyTail)
	cutOld(in, e)
	in2 := *in
	in2.Messages = e.msgs
	out := dropOldest(&in2)
	for size := emergencyResult / 2; size >= smallestResult && Total(out) > in.Target; size /= 2 {
		in2.Messages = out
		last := newEdit(&in2)
		cutResults(in, last, size, size/2, size/4)
		out = last.msgs
	}
	return out, nil
}

func cutResults(in *Input, e *edit, longer, head, tail int) {
	for _, i := range resultsOf(e.msgs) {
		if e.done() {
			return
		}
		m := e.msgs[i]
		if utf8.RuneCountInString(m.TextContent()) > longer || len(m.Content) > 1 {
			e.replace(i, cutResult(in, m, head, tail))
		}
	}
}

// cutOld cuts the text, reasoning, images and arguments of older messages.
func cutOld(in *Input, e *edit) {
	for _, u := range in.units(e.msgs) {
		if u.keep {
			continue
		}
		if e.done() {
			return
		}
		m := e.msgs[u.from]
		if c := cutArgs(m); c != nil {
			e.replace(u.from, c)
			m = c
		}
		plain := !slices.ContainsFunc(m.Content,
			func(b message.Block) bool {
				return b.Type != message.Text &&
					b.Type != message.ToolUse
			})
		if text := m.TextContent(); utf8.RuneCountInString(text) > emergencyOld || !plain {
			e.replace(u.from, withText(m, headTail(text, emergencyOHead, emergencyOTail, "")))
		}
	}
}

// dropOldest drops the oldest units that may be dropped.
func dropOldest(in *Input) []*message.Message {
	us := in.units(in.Messages)
	drop := make([]bool, len(us))
	total := Total(in.Messages)
	for i, u := range us {
		if total <= in.Target {
			break
		}
		if !u.keep {
			drop[i] = true
			total -= u.tokens
		}
	}
	return dropUnits(in, us, drop)
}
