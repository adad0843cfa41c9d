package repair

import (
	"encoding/json"
	"slices"
	"strings"
)

// loose finds calls without an explicit form: JSON in code blocks, bare JSON, `name: X` followed by
// arguments, and `toolname {…}`.
func (s *scanner) loose() {
	for i := range s.fences {
		if s.full() {
			break
		}
		f := &s.fences[i]
		s.try()
		if slices.Contains(callLabels, f.label) {
			s.add(f.bodyStart, f.bodyEnd, true, callsIn(s.text[f.bodyStart:f.bodyEnd], false))
		}
	}
	s.tries = maxTries
	s.bare()
	s.tries = maxTries
	s.lines()
}

// bare finds calls that are written as JSON outside code blocks.
func (s *scanner) bare() {
	for at := 0; at < len(s.text) && !s.full(); {
		i := strings.IndexAny(s.text[at:], "{[")
		if i < 0 {
			return
		}
		at += i
		if f := s.inFence(at); f != nil {
			at = max(f.end, at+1)
			continue
		}
		n := 0
		if s.mayBegin(at) {
			n = matching(s.text[at:], &s.budget)
		}
		if n <= 0 {
			at++
			continue
		}
		s.jsonAt(at, at+n)
		at += n
	}
}

// mayBegin reports whether a call written as JSON may begin at i.
func (s *scanner) mayBegin(i int) bool {
	if i > 0 && strings.IndexByte(" \t\n:}]>", s.text[i-1]) < 0 && !isWord(s.text[i-1]) {
		return false
	}
	rest := strings.TrimLeft(s.text[i+1:min(len(s.text), i+65)], " \t\r\n")
	return rest != "" && (rest[0] == '"' || rest[0] == '\'' || rest[0] == '{' || rest[0] == '}' ||
		isWord(rest[0]))
}

// jsonAt tries to parse the JSON in text[start:end] as a call, or as the arguments of a tool that
// is named before it.
func (s *scanner) jsonAt(start, end int) {
	raw := s.text[start:end]
	if namesCall(raw) {
		s.try()
		if calls := callsIn(raw, false); len(calls) > 0 {
			s.add(start, end, true, calls)
			return
		}
	}
	if len(s.known) == 0 || raw[0] != '{' {
		return
	}
	low := lineStart(s.text, start)
	name := strings.TrimPrefix(strings.TrimSpace(s.text[low:start]), "call:")
	name = strings.TrimSpace(strings.TrimSuffix(name, ":"))
	if name == "" || knownName(name, s.known) == "" { // the tool's name must begin the line
		return
	}
	s.try()
	s.add(low, end, true, []parsed{withArgs(name, raw)})
}

// Limits for a call that is written on several lines.
const (
	maxArgsDistance = 10  // maximum number of lines from the name to the arguments
	maxNameLine     = 200 // in bytes
)

// lines finds `name: X` lines followed by an arguments line.
func (s *scanner) lines() {
	for at := 0; at < len(s.text) && !s.full(); {
		end := lineEnd(s.text, at)
		if end-at < maxNameLine {
			s.line(at, end)
		}
		at = end + 1
	}
}

func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

// lineName returns the tool named by a line such as `**tool:** read`, or "".
func lineName(line string) string {
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return ""
	}
	if !lineKey(strings.Trim(key, " \t-*")) {
		return ""
	}
	value = strings.Trim(value, " \t\r*,\"'`")
	if !usableID().MatchString(value) {
		return ""
	}
	return value
}

// lineKey reports whether a word followed by a colon at the beginning of a line announces a tool's
// name.
func lineKey(word string) bool {
	switch word {
	case "name", "tool", "function", "tool_name", "function_name":
		return true
	}
	return false
}

// line processes a line that names a tool, if arguments follow below.
func (s *scanner) line(at, end int) {
	name := lineName(s.text[at:end])
	if name == "" {
		return
	}
	if f := s.inFence(at); f != nil && !slices.Contains(callLabels, f.label) {
		return
	}
	if start, stop, ok := s.argsBelow(end); ok {
		s.try()
		s.add(at, stop, true, []parsed{withArgs(name, s.text[start:stop])})
	}
}

// argsBelow finds the arguments in the lines after offset i.
func (s *scanner) argsBelow(i int) (start, end int, ok bool) {
	for range maxArgsDistance {
		nl := strings.IndexByte(s.text[i:], '\n')
		if nl < 0 {
			return 0, 0, false
		}
		i += nl + 1
		line := s.text[i:min(len(s.text), i+maxLineBack)]
		if n := argsKey(line); n > 0 {
			return s.argsValue(i + n)
		}
	}
	return 0, 0, false
}

// argsKey returns the length of a prefix such as `**arguments:** `, or 0 if there is none.
func argsKey(line string) int {
	colon := strings.IndexByte(line, ':')
	if colon < 0 {
		return 0
	}
	switch strings.Trim(line[:colon], " \t-*") {
	case "arguments", "args", "input", "parameters", "params":
		return len(line) - len(strings.TrimLeft(line[colon+1:], "* \t"))
	}
	return 0
}

// argsValue returns the object, or the line with a quoted object, that follows i. Only white space
// and backticks may precede it.
func (s *scanner) argsValue(i int) (start, end int, ok bool) {
	start = len(s.text) - len(strings.TrimLeft(s.text[i:], " \t\r\n`"))
	if start >= len(s.text) {
		return 0, 0, false
	}
	switch s.text[start] {
	case '{':
		n := matching(s.text[start:], &s.budget)
		return start, start + n, n > 0
	case '"', '\'':
		return start, lineEnd(s.text, start), true
	}
	return 0, 0, false
}

// matching returns the length of the bracketed text at the start of s, or 0 if the brackets are not
// closed. It deducts the scanned bytes from budget, so that text full of opening brackets does not
// take quadratic time.
func matching(s string, budget *int) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s) && *budget > 0; i++ {
		*budget--
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' && i > 0 && strings.IndexByte("{[:, (=", s[i-1]) >= 0:
			quote = c
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// namesCall reports whether JSON text contains one of the keywords of calls. Every call contains at
// least one of these keywords.
func namesCall(text string) bool {
	return strings.Contains(text, "name") || strings.Contains(text, "function") ||
		strings.Contains(text, "tool")
}

// callsIn parses the calls in JSON text, in any of the usual shapes. If tagged is set, the text is
// in an explicit form, in which arguments may be missing.
func callsIn(text string, tagged bool) []parsed {
	if !namesCall(text) {
		return nil
	}
	f := fix(text)
	if !f.ok && tagged { // several documents, one per line
		return eachDocument(text)
	}
	if !f.ok || f.cutString && !tagged {
		return nil
	}
	calls := shaped(f.value, tagged, 0)
	if f.cutString {
		for i := range calls {
			calls[i].problem, calls[i].raw,
				calls[i].args = "the arguments end in the middle of a string", text,
				json.RawMessage("{}")
		}
	}
	return calls
}

// eachDocument parses several consecutive JSON documents.
func eachDocument(text string) []parsed {
	var list []parsed
	budget := scanBudget(text)
	for at, tries := 0, 0; at < len(text) && tries < maxFound; tries++ {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			break
		}
		at += i
		n := matching(text[at:], &budget)
		if n <= 0 {
			break
		}
		if f := fix(text[at : at+n]); f.ok {
			list = append(list, shaped(f.value, true, 0)...)
		}
		at += n
	}
	return list
}

// maxShapeDepth bounds how deeply calls may be nested.
const maxShapeDepth = 4

// shaped parses a call or a list of calls.
func shaped(v json.RawMessage, tagged bool, depth int) []parsed {
	if depth > maxShapeDepth {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(v, &list) == nil {
		var calls []parsed
		for _, one := range list[:min(len(list), maxFound)] {
			calls = append(calls, shaped(one, tagged, depth+1)...)
		}
		return calls
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(v, &o) != nil {
		return nil
	}
	for _, key := range []string{"tool_calls", "function_call", "tool_use", "tool_call"} {
		if inner, ok := o[key]; ok {
			return shaped(inner, tagged, depth+1)
		}
	}
	if inner, ok := o["function"]; ok && len(inner) > 0 && inner[0] == '{' {
		return shaped(inner, tagged, depth+1)
	}
	return one(o, tagged)
}

// one parses a single call.
func one(o map[string]json.RawMessage, tagged bool) []parsed {
	var name string
	for _, key := range []string{"name", "function", "tool", "tool_name", "function_name"} {
		if json.Unmarshal(o[key], &name) == nil && name != "" {
			break
		}
	}
	if name == "" {
		return nil
	}
	for _, key := range []string{"arguments", "parameters", "input", "args", "params",
		"tool_input"} {
		raw, ok := o[key]
		if !ok {
			continue
		}
		return []parsed{withArgs(name, string(raw))}
	}
	if !tagged {
		return nil
	}
	return []parsed{{name: name, args: json.RawMessage("{}")}}
}

// withArgs returns a call with a name and the text of its arguments.
func withArgs(name, raw string) parsed {
	f := fixArgs(raw)
	if f.ok && !f.cutString {
		return parsed{name: name, args: compact(f.value)}
	}
	p := parsed{name: name, args: json.RawMessage("{}"), raw: raw, problem: syntaxProblem(raw)}
	if f.cutString {
		p.problem = "the arguments end in the middle of a string"
	}
	return p
}

func compact(v json.RawMessage) json.RawMessage {
	var b strings.Builder
	b.Grow(len(v))
	inString := false
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case inString && c == '\\':
			b.WriteByte(c)
			i++
			c = v[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		b.WriteByte(c)
	}
	return json.RawMessage(b.String())
}
