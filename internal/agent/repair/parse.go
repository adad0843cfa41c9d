package repair

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// ParseCalls finds tool calls that a model wrote as text, in the forms that models were trained on
// (see tagForms and loose.go). It returns the calls and the text without them. It finds only calls
// of known tools. If known is empty, it accepts any plausible name. Examples are not treated as
// calls: inline code, quotations, code blocks in another language, text after words such as "for
// example", and bare JSON followed by prose. Except next to a removed call, white space in the
// prose is preserved. The time is linear in the length of the text.
func ParseCalls(text string, known []string) ([]*message.ToolCall, string) {
	return parseCalls(text, known, randomID)
}

func parseCalls(text string, known []string, newID func() string) ([]*message.ToolCall, string) {
	if !mayHoldCalls(text) {
		return nil, text
	}
	s := &scanner{text: text, known: known, budget: scanBudget(text), tries: maxTries}
	s.fences = findFences(text)
	s.tags()
	s.loose()
	found := s.accepted()
	if len(found) == 0 {
		return nil, text
	}
	var calls []*message.ToolCall
	seen := map[string]bool{}
	for _, f := range found {
		for _, c := range f.calls {
			key := c.name + "\x00" + string(c.args) + "\x00" + c.raw
			if seen[key] {
				continue
			}
			seen[key] = true
			calls = append(calls, &message.ToolCall{ID: newID(), Name: c.name, Args: c.args,
				Raw: c.raw, Problem: c.problem})
		}
	}
	return calls, cut(text, found)
}

// markers are strings that occur in calls. Every text with a call contains at least one of them.
var markers = []string{"{", "<function", "<tool", "<invoke", "[TOOL_CALLS]", "<|python_tag|>",
	"<|tool_call", "<｜tool", "name:", "tool:", "function:"}

func mayHoldCalls(text string) bool {
	for _, m := range markers {
		if strings.Contains(text, m) {
			return true
		}
	}
	return false
}

// budgetFactor limits the work of matching brackets to a multiple of the text's length.
const budgetFactor = 4

func scanBudget(text string) int { return budgetFactor*len(text) + 1<<12 }

// found is a part of the text that contains calls.
type found struct {
	start, end int
	calls      []parsed
	// weak is set if only the part's shape suggests a call. Such a part is a call only at the end
	// of the text.
	weak bool
}

type parsed struct {
	name    string
	args    json.RawMessage
	raw     string
	problem string
}

// scanner searches one text for calls.
type scanner struct {
	text   string
	known  []string
	fences []fence
	found  []found
	budget int
	tries  int            // number of remaining tries (see try)
	seen   map[string]int // the next position of a tag (see next)
}

// fence is a code block. text[start:end] includes its fences, and text[bodyStart:bodyEnd] does not.
type fence struct {
	start, bodyStart, bodyEnd, end int
	label                          string
}

// findFences finds the code blocks. An unclosed block ends at the end of the text.
func findFences(text string) []fence {
	var list []fence
	for at := 0; ; {
		i := nextFence(text, at)
		if i < 0 {
			return list
		}
		f := fence{start: i}
		line := strings.IndexByte(text[i:], '\n')
		if line < 0 {
			return list
		}
		f.label = strings.ToLower(strings.Trim(text[i:i+line], "`~ \t\r"))
		f.bodyStart = i + line + 1
		f.bodyEnd, f.end = len(text), len(text)
		if j := nextFence(text, f.bodyStart); j >= 0 {
			f.bodyEnd, f.end = j, j+3
		}
		list = append(list, f)
		at = f.end
	}
}

// nextFence finds the next ``` at the beginning of a line, indented or not.
func nextFence(text string, from int) int {
	for from < len(text) {
		i := strings.Index(text[from:], "```")
		if i < 0 {
			return -1
		}
		i += from
		if strings.TrimLeft(text[lineStart(text, i):i], " \t") == "" {
			return i
		}
		from = i + 3
	}
	return -1
}

// maxLineBack limits how far back the beginning of a line is searched.
const maxLineBack = 512

func lineStart(text string, i int) int {
	low := max(0, i-maxLineBack)
	return low + strings.LastIndexByte(text[low:i], '\n') + 1
}

// inFence returns the code block around i, or nil.
func (s *scanner) inFence(i int) *fence {
	n, _ := slices.BinarySearchFunc(s.fences, i, func(f fence, i int) int {
		if f.end <= i {
			return -1
		}
		return 1
	})
	if n < len(s.fences) && s.fences[n].start <= i {
		return &s.fences[n]
	}
	return nil
}

// callLabels are the labels of code blocks that may contain calls.
var callLabels = []string{"", "json", "tool_call", "tool_calls", "tool_code", "tool", "xml",
	"function_call", "jsonc", "json5"}

// isExample reports whether text[start:end] is shown as an example and not meant as a call.
func (s *scanner) isExample(start, end int) bool {
	before := s.text[lineStart(s.text, start):start]
	if strings.Count(before, "`")%2 == 1 && !strings.Contains(before, "```") {
		return true
	}
	if strings.HasPrefix(strings.TrimLeft(before, " \t"), ">") {
		return true
	}
	if n := len(before); n > 0 && end < len(s.text) && strings.IndexByte("\"'", before[n-1]) >= 0 &&
		s.text[end] == before[n-1] {
		return true
	}
	if strings.HasSuffix(before, "“") {
		return true
	}
	return speaksOfExample(s.introduction(start))
}

// introduction returns the part of the line before text[start] or, if that part is blank, the
// preceding line that is not blank.
func (s *scanner) introduction(start int) string {
	low := lineStart(s.text, start)
	if strings.TrimSpace(s.text[low:start]) != "" {
		return s.text[low:start]
	}
	i := len(strings.TrimRight(s.text[max(0, low-maxLineBack):low], " \t\r\n")) +
		max(0, low-maxLineBack)
	return s.text[lineStart(s.text, i):i]
}

var exampleWords = []string{"example", "e.g.", "for instance", "such as", "looks like", "look like",
	"would be", "would look", "format:", "syntax", "instead of", "like this:", "sample",
	"documentation"}

func speaksOfExample(line string) bool {
	line = strings.ToLower(line)
	for _, w := range exampleWords {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// maxFound limits the number of calls in one reply. No model intends to make more.
const maxFound = 256

// maxTries limits, for each kind of search (tags, bare JSON, lines), how many pieces of one reply
// are tried as calls. Otherwise, text with many opening brackets and no calls would repeat the most
// expensive work.
const maxTries = 2048

func (s *scanner) full() bool { return len(s.found) >= maxFound || s.tries <= 0 }

// try counts one attempt to parse a piece.
func (s *scanner) try() { s.tries-- }

// add records a part of the text with calls of known tools.
func (s *scanner) add(start, end int, weak bool, calls []parsed) {
	var kept []parsed
	for _, c := range calls {
		if name := s.tool(c.name, weak); name != "" {
			c.name = name
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 || s.isExample(start, end) {
		return
	}
	if f := s.inFence(start); f != nil {
		if !slices.Contains(callLabels, f.label) || s.isExample(f.start, f.end) {
			return
		}
		start, end, weak = min(start, f.start), max(end, f.end), true
	}
	s.found = append(s.found, found{start, end, kept, weak})
}

// tool returns the real name of a tool, or "" if there is no such tool.
func (s *scanner) tool(name string, weak bool) string {
	n := normalizer{known: s.known}
	name = n.name(name)
	switch {
	case name == "":
		return ""
	case len(s.known) > 0:
		return knownName(name, s.known)
	case weak && !usableID().MatchString(name):
		return ""
	}
	return name
}

// accepted returns the valid parts, in order and without overlap. A weak part is valid only if
// nothing but calls and white space follows.
func (s *scanner) accepted() []found {
	slices.SortStableFunc(s.found, func(a, b found) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	var list []found
	for _, f := range s.found {
		if n := len(list); n > 0 && f.start < list[n-1].end {
			if f.end <= list[n-1].end && f.start == list[n-1].start &&
				f.weak { // several calls in one code block
				list[n-1].calls = append(list[n-1].calls, f.calls...)
			}
			continue
		}
		list = append(list, f)
	}
	tail := len(s.text)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].weak && !isFiller(s.text[list[i].end:tail]) {
			list = slices.Delete(list, i, i+1)
			continue
		}
		tail = list[i].start
	}
	return list
}

// isFiller reports whether text has no content. Such text consists only of white space, closing
// tags, special tokens, backticks, closing brackets, commas and semicolons.
func isFiller(text string) bool {
	text = strings.TrimSpace(text)
	for len(text) > 0 {
		if !strings.HasPrefix(text, "<|") && !strings.HasPrefix(text, "</") {
			return strings.Trim(text, "`;,]} \t\r\n") == ""
		}
		i := strings.IndexByte(text, '>')
		if i < 0 {
			return true
		}
		text = strings.TrimSpace(text[i+1:])
	}
	return true
}

// cut removes the parts from the text. Where it removes whole lines, at most one blank line
// remains.
func cut(text string, list []found) string {
	var b strings.Builder
	at := 0
	for _, f := range list {
		join(&b, text[at:f.start])
		at = f.end
	}
	rest := text[at:]
	if isFiller(rest) {
		rest = ""
	}
	join(&b, rest)
	return strings.TrimRight(b.String(), " \t\r\n")
}

// join appends the next piece of prose after a call that was cut out.
func join(b *strings.Builder, piece string) {
	if b.Len() == 0 {
		b.WriteString(piece)
		return
	}
	have := b.String()
	before := len(have) - len(strings.TrimRight(have, " \t\r\n"))
	after := len(piece) - len(strings.TrimLeft(piece, " \t\r\n"))
	breaks := strings.Count(have[len(have)-before:], "\n") + strings.Count(piece[:after], "\n")
	for ; breaks > 2 && after > 0; after-- {
		if piece[0] == '\n' {
			breaks--
		}
		piece = piece[1:]
	}
	b.WriteString(piece)
}
