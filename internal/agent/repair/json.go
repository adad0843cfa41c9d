package repair

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fixed is the result of a repair.
type fixed struct {
	value     json.RawMessage
	ok        bool
	cut       bool // whether closing brackets were missing
	cutString bool // the text ended inside a string, whose rest is lost
}

// maxDepth bounds nesting, because the parser is recursive.
const maxDepth = 500

// fix converts malformed JSON from a model to valid JSON. It handles code fences, comments, single
// or typographic quotes, unquoted keys, Python literals, trailing and missing commas, pairs without
// braces, raw control characters and wrong escapes in strings, missing closing brackets, and
// repeated documents. It never changes the meaning of a string. Valid JSON is returned unchanged.
// ok is false if the meaning cannot be determined.
func fix(raw string) fixed {
	if json.Valid([]byte(raw)) {
		return fixed{value: json.RawMessage(raw), ok: true}
	}
	p := &parser{s: unwrap(raw)}
	p.out = make([]byte, 0, len(p.s)+16)
	if !p.document() || !json.Valid(p.out) {
		return fixed{}
	}
	return fixed{value: p.out, ok: true, cut: p.cut, cutString: p.cutString}
}

// fixArgs repairs arguments. An empty string is converted to an empty object. The arguments may
// also be an object that is encoded as a string.
func fixArgs(raw string) fixed {
	if strings.TrimSpace(raw) == "" {
		return fixed{value: json.RawMessage("{}"), ok: true}
	}
	f := fix(raw)
	for range 2 {
		var inner string
		if !f.ok || bytes.TrimSpace(f.value)[0] != '"' || json.Unmarshal(f.value, &inner) != nil {
			break
		}
		if strings.TrimSpace(inner) == "" {
			return fixed{value: json.RawMessage("{}"), ok: true}
		}
		f = fix(inner)
	}
	if string(f.value) == "null" {
		f.value = json.RawMessage("{}")
	}
	if f.ok && !isObject(f.value) {
		return fixed{}
	}
	return f
}

// unwrap removes a byte order mark and special tokens before a document, and a code fence around
// it.
func unwrap(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(s, "\uFEFF"))
	for strings.HasPrefix(s, "<|") {
		i := strings.Index(s, "|>")
		if i < 0 {
			break
		}
		s = strings.TrimSpace(s[i+2:])
	}
	if rest, ok := strings.CutPrefix(s, "```"); ok {
		label, body, found := strings.Cut(rest, "\n")
		if found && !strings.ContainsAny(label, "{[") {
			rest = body
		}
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	return s
}

// parser reads malformed JSON and writes valid JSON.
type parser struct {
	s         string
	i         int
	out       []byte
	depth     int
	cut       bool
	cutString bool
}

func (p *parser) document() bool {
	p.space()
	if p.i >= len(p.s) {
		return false
	}
	c := p.s[p.i]
	if c != '{' && c != '[' && p.barePairs() {
		return p.members(true)
	}
	if c != '{' && c != '[' && c != '"' && c != '\'' {
		return false
	}
	if !p.value() {
		return false
	}
	return p.rest()
}

// barePairs reports whether the text begins with a key and a colon.
func (p *parser) barePairs() bool {
	t := &parser{s: p.s, i: p.i}
	if !t.key() {
		return false
	}
	t.space()
	return t.i < len(t.s) && t.s[t.i] == ':' && !strings.HasPrefix(t.s[t.i:], "://")
}

// rest reports whether the text after the document is harmless. It may begin with superfluous
// closing brackets, commas, semicolons and backticks. After these, it must be empty, repeat the
// document, or begin with a closing tag or a special token.
func (p *parser) rest() bool {
	tail := strings.TrimSpace(p.s[p.i:])
	tail = strings.TrimSpace(strings.TrimLeft(tail, "}];,` \t\r\n"))
	if tail == "" || strings.HasPrefix(tail, "</") || strings.HasPrefix(tail, "<|") {
		return true
	}
	doc := strings.TrimSpace(p.s[:p.i])
	return tail == doc
}

func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// space skips white space and comments.
func (p *parser) space() {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.i++
		case strings.HasPrefix(p.s[p.i:], "\u00a0"):
			p.i += len("\u00a0")
		case strings.HasPrefix(p.s[p.i:], "//"):
			p.skipTo("\n")
		case strings.HasPrefix(p.s[p.i:], "/*"):
			p.skipTo("*/")
		default:
			return
		}
	}
}

func (p *parser) skipTo(end string) {
	if n := strings.Index(p.s[p.i:], end); n >= 0 {
		p.i += n + len(end)
	} else {
		p.i = len(p.s)
	}
}

func (p *parser) value() bool {
	p.space()
	if p.depth++; p.depth > maxDepth {
		return false
	}
	defer func() { p.depth-- }()
	switch c := p.peek(); {
	case p.i >= len(p.s):
		p.cut = true
		p.out = append(p.out, "null"...)
		return true
	case c == '{':
		p.i++
		return p.members(false)
	case c == '[':
		p.i++
		return p.elements()
	}
	if open := p.quote(); open != "" {
		return p.str(open, false)
	}
	return p.bare()
}

// members parses an object's members and the closing brace. If top is set, there are no braces.
func (p *parser) members(top bool) bool {
	p.out = append(p.out, '{')
	for n := 0; ; n++ {
		p.separators()
		switch c := p.peek(); {
		case p.i >= len(p.s):
			p.cut = p.cut || !top
			p.out = append(p.out, '}')
			return true
		case c == '}':
			p.i++
			p.out = append(p.out, '}')
			return !top || p.rest()
		case c == ']': // a closing bracket of an enclosing value
			p.out = append(p.out, '}')
			return !top
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		if !p.member() {
			return false
		}
	}
}

func (p *parser) separators() {
	for p.space(); p.peek() == ','; p.space() {
		p.i++
	}
}

func (p *parser) member() bool {
	if !p.key() {
		return false
	}
	p.space()
	switch {
	case p.i >= len(p.s): // the text is cut off after the key
		p.cut = true
		p.out = append(p.out, ":null"...)
		return true
	case p.peek() == ':':
		p.i++
	case strings.HasPrefix(p.s[p.i:], "=>"):
		p.i += 2
	case p.peek() == '=':
		p.i++
	default:
		return false
	}
	p.out = append(p.out, ':')
	p.space()
	if c := p.peek(); c == ',' || c == '}' {
		p.out = append(p.out, "null"...)
		return true
	}
	return p.value()
}

// key parses a key, quoted or not.
func (p *parser) key() bool {
	if open := p.quote(); open != "" {
		return p.str(open, true)
	}
	start := p.i
	for p.i < len(p.s) && (isWord(p.s[p.i]) || p.s[p.i] == '-' || p.s[p.i] == '.' ||
		p.s[p.i] == '$') {
		p.i++
	}
	if p.i == start {
		return false
	}
	p.out = appendQuoted(p.out, p.s[start:p.i])
	return true
}

func (p *parser) elements() bool {
	p.out = append(p.out, '[')
	for n := 0; ; n++ {
		p.separators()
		switch c := p.peek(); {
		case p.i >= len(p.s):
			p.cut = true
			p.out = append(p.out, ']')
			return true
		case c == ']':
			p.i++
			p.out = append(p.out, ']')
			return true
		case c == '}':
			p.out = append(p.out, ']')
			return true
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		if !p.value() {
			return false
		}
	}
}

// closers maps an opening quote to its closing quote.
var closers = map[string]string{`"`: `"`, "'": "'", "`": "`", "“": "”", "‘": "’", "”": "”"}

// quote returns the quote at the current position, or "".
func (p *parser) quote() string {
	switch p.peek() {
	case '"', '\'', '`':
		return p.s[p.i : p.i+1]
	case 0xe2: // “ ” ‘
		if p.i+3 <= len(p.s) && closers[p.s[p.i:p.i+3]] != "" {
			return p.s[p.i : p.i+3]
		}
	}
	return ""
}

// str parses a string.
func (p *parser) str(open string, key bool) bool {
	closing := closers[open]
	p.i += len(open)
	p.out = append(p.out, '"')
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case strings.HasPrefix(p.s[p.i:], closing) && p.closes(p.i+len(closing), key):
			p.i += len(closing)
			p.out = append(p.out, '"')
			return true
		case c == '\\':
			p.escape()
		default:
			n := 1
			if c >= utf8.RuneSelf {
				_, n = utf8.DecodeRuneInString(p.s[p.i:])
			}
			p.out = appendEscaped(p.out, p.s[p.i:p.i+n])
			p.i += n
		}
	}
	p.cut, p.cutString = true, true
	p.out = append(p.out, '"')
	return true
}

// closes reports whether the quote just before i ends its string. This depends on the text after
// the quote. A quote that does not end the string is part of its text.
func (p *parser) closes(i int, key bool) bool {
	newline := false
	for i < len(p.s) && (p.s[i] == ' ' || p.s[i] == '\t' || p.s[i] == '\n' || p.s[i] == '\r') {
		newline = newline || p.s[i] == '\n'
		i++
	}
	if i >= len(p.s) {
		return true
	}
	switch p.s[i] {
	case ':', '=':
		return key
	case ',', '}', ']':
		return !key
	case '"', '\'', '/':
		// either a comma is missing at the end of the line, or a comment follows the value
		return newline && !key
	}
	return false
}

// escape parses an escape sequence. An invalid sequence is kept as text.
func (p *parser) escape() {
	if p.i+1 >= len(p.s) {
		p.i++
		return
	}
	c := p.s[p.i+1]
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.out = append(p.out, '\\', c)
	case 'u':
		if p.i+6 <= len(p.s) && isHex(p.s[p.i+2:p.i+6]) {
			p.out = append(p.out, p.s[p.i:p.i+6]...)
			p.i += 6
			return
		}
		p.out = append(p.out, `\\u`...)
	case 'x':
		if p.i+4 <= len(p.s) && isHex(p.s[p.i+2:p.i+4]) {
			p.out = append(append(p.out, `\u00`...), p.s[p.i+2:p.i+4]...)
			p.i += 4
			return
		}
		p.out = append(p.out, `\\x`...)
	case '\'', '`':
		p.out = append(p.out, c)
	case '\n':
		p.out = append(p.out, `\n`...)
	default: // for example, \d in a regular expression
		p.out = append(p.out, `\\`...)
		p.i++
		return
	}
	p.i += 2
}

func isHex(s string) bool {
	_, err := strconv.ParseUint(s, 16, 32)
	return err == nil
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		c >= utf8.RuneSelf
}

var words = map[string]string{
	"true": "true", "false": "false", "null": "null", "True": "true", "False": "false",
	"None": "null",
	"TRUE": "true", "FALSE": "false", "undefined": "null", "nil": "null", "NaN": "null",
	"Infinity": "null",
}

// bare parses an unquoted value: a number, a word, or other text.
func (p *parser) bare() bool {
	start := p.i
	for p.i < len(p.s) && !strings.ContainsRune(",}]{[\n\"", rune(p.s[p.i])) {
		p.i++
	}
	w := strings.TrimSpace(p.s[start:p.i])
	if w == "" || strings.Contains(w, ": ") {
		return false
	}
	if lit, ok := words[w]; ok {
		p.out = append(p.out, lit...)
		return true
	}
	p.out = appendNumber(p.out, w)
	return true
}

// appendNumber appends w as a number if it is written as one, for example in hexadecimal, and
// otherwise as a string.
func appendNumber(out []byte, w string) []byte {
	if json.Valid([]byte(w)) {
		return append(out, w...)
	}
	if n, err := strconv.ParseInt(w, 0, 64); err == nil &&
		!strings.HasPrefix(strings.TrimLeft(w, "+-"), "0") || err == nil &&
		strings.HasPrefix(w, "0x") {
		return strconv.AppendInt(out, n, 10)
	}
	if f, err := strconv.ParseFloat(w, 64); err == nil && strings.ContainsAny(w, ".eE") &&
		!strings.ContainsAny(w, "xXpP_") {
		if b, err := json.Marshal(f); err == nil {
			return append(out, b...)
		}
	}
	return appendQuoted(out, w)
}

func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); {
		_, n := utf8.DecodeRuneInString(s[i:])
		out = appendEscaped(out, s[i:i+n])
		i += n
	}
	return append(out, '"')
}

// appendEscaped appends one rune of a string.
func appendEscaped(out []byte, r string) []byte {
	if len(r) > 1 {
		return append(out, r...)
	}
	switch c := r[0]; {
	case c == '"' || c == '\\':
		return append(out, '\\', c)
	case c == '\n':
		return append(out, `\n`...)
	case c == '\t':
		return append(out, `\t`...)
	case c == '\r':
		return append(out, `\r`...)
	case c < 0x20:
		const hex = "0123456789abcdef"
		return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	case c >= utf8.RuneSelf:
		return append(out, "\uFFFD"...)
	}
	return append(out, r[0])
}
