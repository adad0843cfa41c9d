package repair

import (
	"encoding/json"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// tagForm is an explicit form of a call. It defines the opening and closing tags, and how the text
// between them is parsed.
type tagForm struct {
	open string
	// close contains the closing tags. The first one found ends the form. Without one, the form
	// ends at its next opening tag or at the end of the text.
	close []string
	read  func(name, body string) []parsed
	named bool // whether the opening tag continues with a name up to ">"
}

// tagForms are the explicit forms. If one opening tag is a prefix of another, the longer one comes
// first.
var tagForms = []tagForm{
	{open: "<tool_call>", close: []string{"</tool_call>"}, read: readToolCall}, // Hermes, Qwen, GLM
	{open: "<tool_use>", close: []string{"</tool_use>"}, read: readToolCall},   // Claude-like
	{open: "<function_call>", close: []string{"</function_call>"}, read: readToolCall},
	{open: "<tool=", close: []string{"</tool>", "</tool="}, read: readNamed, named: true},
	{open: "<tool>", close: []string{"</tool>"}, read: readToolCall},
	// Llama and Qwen coder use this form.
	{open: "<function=", close: []string{"</function>", "</function="}, read: readNamed,
		named: true},
	{open: "<invoke name=", close: []string{"</invoke>"}, read: readNamed, named: true},
	{open: "[TOOL_CALLS]", read: readMistral},
	// Llama 3
	{open: "<|python_tag|>", close: []string{"<|eom_id|>", "<|eot_id|>"}, read: readPython},
	{open: "<|tool_call_begin|>", close: []string{"<|tool_call_end|>"}, read: readKimi},
	{open: "<｜tool▁call▁begin｜>", close: []string{"<｜tool▁call▁end｜>"}, read: readDeepSeek},
}

// wrappers are tags around several calls. They are removed together with the calls.
var wrappers = []string{"<tool_calls>", "</tool_calls>", "<function_calls>", "</function_calls>",
	"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"}

// tags finds calls written in explicit tags. The first opening tag that matches is used. Calls
// inside a call are ignored.
func (s *scanner) tags() {
	s.seen = map[string]int{}
	at := 0
	for at < len(s.text) && !s.full() {
		i := strings.IndexAny(s.text[at:], "<[")
		if i < 0 {
			return
		}
		at += i
		f := formAt(s.text[at:])
		if f == nil {
			at++
			continue
		}
		at = s.tag(f, at)
	}
}

func formAt(text string) *tagForm {
	for i := range tagForms {
		if strings.HasPrefix(text, tagForms[i].open) {
			return &tagForms[i]
		}
	}
	return nil
}

// tag parses the form whose opening tag is at start. It returns the position at which to continue.
func (s *scanner) tag(f *tagForm, start int) int {
	bodyStart := start + len(f.open)
	name := ""
	if f.named {
		i := strings.IndexAny(s.text[bodyStart:min(len(s.text), bodyStart+maxName)], ">\n")
		if i < 0 || s.text[bodyStart+i] != '>' {
			return bodyStart
		}
		name = strings.Trim(s.text[bodyStart:bodyStart+i], " \"'/")
		bodyStart += i + 1
	}
	bodyEnd, end := s.closing(f, bodyStart)
	s.try()
	calls := f.read(name, s.text[bodyStart:bodyEnd])
	if len(calls) == 0 {
		return bodyStart
	}
	// Without a closing tag, the text after the JSON is prose.
	if len(f.close) == 0 || end == bodyEnd {
		bodyEnd = bodyStart + usedBy(s.text[bodyStart:bodyEnd])
		end = bodyEnd
	}
	start, end = s.widen(start, end)
	s.add(start, end, false, calls)
	return end
}

// maxName limits the length of a name in a tag, in bytes.
const maxName = 256

// closing finds the end of a form's body and the end of the form itself. A form ends at its closing
// tag, at the next opening tag of the same form, or at the end of the text.
func (s *scanner) closing(f *tagForm, from int) (bodyEnd, end int) {
	bodyEnd = s.next(f.open, from)
	end = bodyEnd
	for _, c := range f.close {
		i := s.next(c, from)
		if i >= bodyEnd {
			continue
		}
		bodyEnd, end = i, i+len(c)
		if strings.HasSuffix(c, "=") { // </function=NAME>
			if j := strings.IndexByte(s.text[end:min(len(s.text), end+maxName)], '>'); j >= 0 {
				end += j + 1
			}
		}
	}
	return bodyEnd, end
}

// next returns the next position of a word, or the length of the text if there is none. It
// remembers the result, so that text with many opening tags and one distant closing tag is not
// searched again for each opening.
func (s *scanner) next(word string, from int) int {
	if at, ok := s.seen[word]; ok && at >= from {
		return at
	}
	at := len(s.text)
	if i := strings.Index(s.text[from:], word); i >= 0 {
		at = from + i
	}
	s.seen[word] = at
	return at
}

// widen extends a part to include the wrappers that directly precede or follow it.
func (s *scanner) widen(start, end int) (int, int) {
	for again := true; again; {
		again = false
		before := strings.TrimRight(s.text[max(0, start-maxLineBack):start], " \t\r\n")
		after := strings.TrimLeft(s.text[end:min(len(s.text), end+maxLineBack)], " \t\r\n")
		for _, w := range wrappers {
			if strings.HasSuffix(before, w) {
				start, again = max(0, start-maxLineBack)+len(before)-len(w), true
				break
			}
			if strings.HasPrefix(after, w) {
				end += strings.Index(s.text[end:], w) + len(w)
				again = true
				break
			}
		}
	}
	return start, end
}

// usedBy returns the offset after the first JSON value in body, or the length of body if there is
// no complete value.
func usedBy(body string) int {
	i := strings.IndexAny(body, "{[(")
	if i < 0 {
		return len(body)
	}
	budget := len(body)
	n := matching(body[i:], &budget)
	if n <= 0 {
		return len(body)
	}
	if rest := body[i+n:]; body[i] == '[' && strings.HasPrefix(rest, "{") { // Mistral's [ARGS]{…}
		if m := matching(rest, &budget); m > 0 {
			n += m
		}
	}
	return i + n
}

var parameterTag = lazyregexp.New(`<(?:parameter|param|arg)(?:=|\s+name=)["']?([^>"']+)["']?\s*>`)

// maxParameters limits the number of parameters in one call.
const maxParameters = 256

// readNamed parses the body of a form that names its tool: parameters in tags, or JSON.
func readNamed(name, body string) []parsed {
	if name == "" {
		return nil
	}
	if args, ok := taggedParameters(body); ok {
		return []parsed{{name: name, args: args}}
	}
	body = strings.TrimSpace(body)
	if body != "" && body[0] != '{' && body[0] != '"' && body[0] != '`' {
		return nil
	}
	return []parsed{withArgs(name, body)}
}

// taggedParameters parses <parameter=KEY>VALUE</parameter> and similar tags.
func taggedParameters(body string) (json.RawMessage, bool) {
	at := parameterTag().FindAllStringSubmatchIndex(body, maxParameters)
	if len(at) == 0 {
		return nil, false
	}
	out := []byte{'{'}
	for i, m := range at {
		end := len(body)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		value := body[m[1]:end]
		for _, c := range []string{"</parameter", "</param", "</arg"} {
			if j := strings.LastIndex(value, c); j >= 0 {
				value = value[:j]
				break
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendQuoted(out, strings.TrimSpace(body[m[2]:m[3]]))
		out = append(append(out, ':'), tagValue(value)...)
	}
	return append(out, '}'), true
}

// tagValue converts a parameter's value. A number, Boolean, null, list or object on one line keeps
// its type. Everything else is a string, including text of several lines, such as a file's content.
func tagValue(value string) json.RawMessage {
	trimmed := strings.TrimSpace(value)
	if trimmed != "" && !strings.ContainsAny(trimmed, "\n") && trimmed[0] != '"' &&
		json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
	return appendQuoted(nil, value)
}

// readToolCall parses a body with JSON, or with the forms that Qwen coder and GLM use inside this
// tag.
func readToolCall(_, body string) []parsed {
	trimmed := strings.TrimSpace(body)
	for _, open := range []string{"<function=", "<invoke name="} {
		if rest, ok := strings.CutPrefix(trimmed, open); ok {
			name, inner, _ := strings.Cut(rest, ">")
			inner, _, _ = strings.Cut(inner, "</"+
				strings.TrimLeft(open[:strings.IndexAny(open, "= ")], "<"))
			return readNamed(strings.Trim(name, " \"'"), inner)
		}
	}
	if name, _, ok := strings.Cut(trimmed, "<arg_key>"); ok {
		return readGLM(strings.TrimSpace(name), trimmed)
	}
	return callsIn(trimmed, true)
}

// readGLM parses pairs of <arg_key>KEY</arg_key><arg_value>VALUE</arg_value>. The last pair may be
// unclosed.
func readGLM(name, body string) []parsed {
	out := []byte{'{'}
	for range maxParameters {
		_, rest, ok := strings.Cut(body, "<arg_key>")
		key, rest, closed := strings.Cut(rest, "</arg_key>")
		between, rest, begun := strings.Cut(rest, "<arg_value>")
		if !ok || !closed || !begun || strings.TrimSpace(between) != "" {
			break
		}
		value, after, _ := strings.Cut(rest, "</arg_value>")
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendQuoted(out, strings.TrimSpace(key)), ':'), tagValue(value)...)
		body = after
	}
	return []parsed{{name: name, args: append(out, '}')}}
}

// readMistral parses [TOOL_CALLS][{…}] and [TOOL_CALLS]name[ARGS]{…}.
func readMistral(_, body string) []parsed {
	body = strings.TrimSpace(body)
	if strings.HasPrefix(body, "[") || strings.HasPrefix(body, "{") {
		return callsIn(body[:usedBy(body)], true)
	}
	i := strings.IndexByte(body, '{')
	if i < 0 {
		return nil
	}
	name := body[:i]
	name, _, _ = strings.Cut(name, "[")
	return []parsed{withArgs(strings.TrimSpace(name), body[i:i+usedBy(body[i:])])}
}

var pythonCall = lazyregexp.New(`^([\w.]+)\((.*)\)$`)
var pythonArgument = lazyregexp.New(`(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,]+)`)

// readPython parses what follows <|python_tag|>: JSON calls, or name.call(key="value").
func readPython(_, body string) []parsed {
	body = strings.TrimSpace(body)
	if calls := callsIn(body[:usedBy(body)], true); len(calls) > 0 {
		return calls
	}
	m := pythonCall().FindStringSubmatch(body)
	if m == nil {
		return nil
	}
	out := []byte{'{'}
	for _, a := range pythonArgument().FindAllStringSubmatch(m[2], maxParameters) {
		v := fix(strings.TrimSpace(a[2]))
		if !v.ok {
			v.value = appendQuoted(nil, strings.TrimSpace(a[2]))
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendQuoted(out, a[1]), ':'), v.value...)
	}
	return []parsed{{name: strings.TrimSuffix(m[1], ".call"), args: append(out, '}')}}
}

// readKimi parses functions.NAME:0<|tool_call_argument_begin|>{…}.
func readKimi(_, body string) []parsed {
	name, args, ok := strings.Cut(body, "<|tool_call_argument_begin|>")
	if !ok {
		return nil
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), "functions.")
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	return []parsed{withArgs(name, args)}
}

// readDeepSeek parses function<｜tool▁sep｜>NAME and a fenced object.
func readDeepSeek(_, body string) []parsed {
	first, rest, ok := strings.Cut(body, "<｜tool▁sep｜>")
	if !ok {
		return nil
	}
	name, args, _ := strings.Cut(rest, "\n")
	if strings.TrimSpace(first) != "function" { // V3.1: NAME<｜tool▁sep｜>{…}
		name, args = first, rest
	}
	return []parsed{withArgs(strings.TrimSpace(name), strings.TrimSpace(args))}
}
