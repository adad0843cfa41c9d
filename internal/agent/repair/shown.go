package repair

import (
	"slices"
	"strings"
)

// Shown determines how much of a block of text can be shown while the text arrives. The shown text
// is always a prefix of the text that remains after Normalize. It contains no escape sequences. If
// the text is searched for calls, the shown text ends where a call may begin. Use one Shown for
// each block of text.
type Shown struct {
	ansi  *ANSIStream
	lines *callGate
}

// NewShown returns a Shown for the options. known contains the names of the tools.
func NewShown(o Options, known []string) *Shown {
	s := &Shown{}
	if o.StripANSI {
		s.ansi = &ANSIStream{}
	}
	if o.FallbackParser {
		s.lines = &callGate{known: known}
	}
	return s
}

// Add adds a piece and returns the text that can be shown now.
func (s *Shown) Add(piece string) string {
	if s.ansi != nil {
		piece = s.ansi.Add(piece)
	}
	if s.lines != nil {
		piece = s.lines.add(piece)
	}
	return piece
}

// End returns the remaining text of the block without its calls.
func (s *Shown) End() string {
	rest := ""
	if s.ansi != nil {
		rest = s.ansi.End()
	}
	if s.lines != nil {
		rest = s.lines.add(rest) + s.lines.end()
	}
	return rest
}

// callGate releases lines until one may belong to a call. It holds back the text from that line on.
// It releases the beginning of an incomplete line if no call can begin that way.
type callGate struct {
	known []string
	shown strings.Builder // the released text
	held  string          // text that is not released yet
	fence bool            // whether the line is in a code block that contains no calls
	shut  bool            // a call may have begun, so held is not released before the end
	mid   bool            // the beginning of the line in held has been released
}

func (g *callGate) add(piece string) string {
	g.held += piece
	if g.shut || piece == "" {
		return ""
	}
	free := 0
	for !g.shut {
		nl := strings.IndexByte(g.held[free:], '\n')
		if nl < 0 {
			break
		}
		if !g.line(g.held[free : free+nl]) {
			g.shut = true
			break
		}
		free, g.mid = free+nl+1, false
	}
	if !g.shut {
		free += g.partial(g.held[free:])
	}
	return g.pass(free)
}

// pass releases the first n bytes of held except for white space at their end, which is removed if
// a call follows it.
func (g *callGate) pass(n int) string {
	n = len(strings.TrimRight(g.held[:n], " \t\r\n"))
	out := g.held[:n]
	g.held = g.held[n:]
	g.shown.WriteString(out)
	g.mid = g.mid || out != "" // the end of this line is still held back
	return out
}

// line reports whether a complete line, or the rest of a line, contains no call.
func (g *callGate) line(line string) bool {
	text := strings.TrimLeft(line, " \t")
	if !g.mid && strings.HasPrefix(text, "```") {
		if g.fence {
			g.fence = false
			return true
		}
		g.fence = !slices.Contains(callLabels, strings.ToLower(strings.Trim(text, "`~ \t\r")))
		return g.fence
	}
	return g.fence || !strings.ContainsAny(line, callBytes) && !mayHoldCalls(line)
}

// callBytes are the bytes that can begin a call in the middle of a line.
const callBytes = "{[<`"

// partial returns the length of the part of an incomplete line that cannot belong to a call.
func (g *callGate) partial(line string) int {
	word := strings.TrimLeft(line, " \t-*\n\r")
	if !g.mid { // the first word may be a tool, a key such as "name:", or a fence
		end := strings.IndexAny(word, " \t")
		if end <= 0 || strings.HasPrefix(word, "`") || g.fence {
			return 0
		}
		first := strings.ToLower(strings.TrimRight(word[:end], ":*"))
		if first == "call" || lineKey(first) || knownName(first, g.known) != "" {
			return 0
		}
	}
	if i := strings.IndexAny(line, callBytes); i >= 0 && !g.fence {
		line = line[:i]
	}
	if mayHoldCalls(line) && !g.fence {
		return 0
	}
	return max(strings.LastIndexAny(line, " \t"), 0)
}

// end processes the text that is still held back at the end of the block, and returns it without
// its calls.
func (g *callGate) end() string {
	shown := g.shown.String()
	_, text := ParseCalls(shown+g.held, g.known)
	rest, ok := strings.CutPrefix(text, shown)
	if !ok {
		return ""
	}
	return rest
}
