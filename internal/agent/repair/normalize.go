package repair

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// Report describes the changes that Normalize made.
type Report struct {
	Repaired int // calls whose arguments, name or ID were repaired
	Dropped  int // calls that repeat the ID, name and arguments of another call
	// Stripped is the number of incomplete calls that were removed, because the reply reached the
	// output limit.
	Stripped int
	FromText int // calls found in the text
}

// Normalize repairs the tool calls of an assistant message. IDs become unique and consist of at
// most 64 letters, digits, underscores and hyphens. Names that differ from a known tool's name only
// in case, a prefix or stray tokens become that name. Arguments become JSON objects. Arguments that
// cannot be repaired are kept in Raw with a Problem, so that the call's result can inform the
// model. Calls that were cut off by the output limit are removed. If the parser is on and there is
// no structured call, Normalize searches for calls in the text. Normalize does not change msg. If
// no change is necessary, it returns msg itself.
func Normalize(msg *message.Message, known []string, o Options) (*message.Message, Report) {
	n := &normalizer{o: o, known: known, seen: map[string]string{}}
	out := msg.Clone()
	if o.StripANSI {
		n.strip(out)
	}
	if o.FallbackParser && len(out.ToolCalls()) == 0 {
		n.parse(out)
	}
	if o.Normalizer {
		n.calls(out)
	}
	if !n.changed {
		return msg, n.report
	}
	return out, n.report
}

type normalizer struct {
	o       Options
	known   []string
	seen    map[string]string // maps the ID of a call to its name and arguments
	report  Report
	changed bool
}

func (n *normalizer) strip(m *message.Message) {
	for i := range m.Content {
		if b := &m.Content[i]; b.Type == message.Text || b.Type == message.Reasoning {
			if s := StripANSI(b.Text); s != b.Text {
				b.Text, n.changed = s, true
			}
		}
	}
}

// parse replaces calls in the text blocks with structured calls that follow the blocks.
func (n *normalizer) parse(m *message.Message) {
	var content []message.Block
	for _, b := range m.Content {
		if b.Type != message.Text {
			content = append(content, b)
			continue
		}
		calls, cleaned := parseCalls(b.Text, n.known, n.newID)
		if len(calls) == 0 {
			content = append(content, b)
			continue
		}
		n.changed = true
		n.report.FromText += len(calls)
		if cleaned != "" {
			content = append(content, message.Block{Type: message.Text, Text: cleaned})
		}
		for _, c := range calls {
			content = append(content, message.Block{Type: message.ToolUse, Call: c})
		}
	}
	m.Content = content
	if n.report.FromText > 0 && m.Stop == message.StopEnd {
		m.Stop = message.StopToolUse
	}
}

func (n *normalizer) calls(m *message.Message) {
	kept := 0
	before := len(m.ToolCalls())
	last := lastCall(m)
	m.Content = slices.DeleteFunc(m.Content, func(b message.Block) bool {
		if b.Type != message.ToolUse {
			return false
		}
		if b.Call == nil || !n.keep(b.Call, m.Stop == message.StopLength && b.Call == last) {
			n.changed = true
			return true
		}
		kept++
		return false
	})
	if kept == 0 && before > 0 && m.Stop == message.StopToolUse {
		m.Stop = message.StopEnd
	}
}

func lastCall(m *message.Message) *message.ToolCall {
	calls := m.ToolCalls()
	if len(calls) == 0 {
		return nil
	}
	return calls[len(calls)-1]
}

// keep repairs a call and reports whether it is kept. cutOff means that the call is the last one of
// a reply that ended at the output limit.
func (n *normalizer) keep(c *message.ToolCall, cutOff bool) bool {
	was := *c
	c.Name = n.name(c.Name)
	if cutOff && (c.Raw != "" || c.Name == "" ||
		len(c.Args) <= 2) { // an empty object may stand for arguments that were cut off
		n.report.Stripped++
		return false
	}
	if c.Raw != "" || !isObject(c.Args) {
		mendArgs(c)
	}
	if !n.id(c) {
		n.report.Dropped++
		return false
	}
	if c.ID != was.ID || c.Name != was.Name || c.Raw != was.Raw || c.Problem != was.Problem ||
		string(c.Args) != string(was.Args) {
		n.report.Repaired++
		n.changed = true
	}
	return true
}

// mendArgs converts the arguments from the model to an object, or records what is wrong with them.
func mendArgs(c *message.ToolCall) {
	raw := c.Raw
	if raw == "" {
		raw = string(c.Args)
	}
	f := fixArgs(raw)
	switch {
	case f.ok && !f.cutString:
		c.Args, c.Raw, c.Problem = f.value, "", ""
		return
	case f.cutString:
		c.Problem = "the arguments end in the middle of a string"
	default:
		c.Problem = syntaxProblem(raw)
	}
	c.Args, c.Raw = json.RawMessage("{}"), raw
}

// syntaxProblem returns the parser's message, which says where the JSON is wrong.
func syntaxProblem(raw string) string {
	var o map[string]json.RawMessage
	err := json.Unmarshal([]byte(raw), &o)
	if err == nil {
		return "the arguments are not a JSON object"
	}
	return "the arguments are not a JSON object: " + err.Error()
}

func isObject(raw json.RawMessage) bool {
	t := strings.TrimSpace(string(raw))
	return strings.HasPrefix(t, "{") && json.Valid(raw)
}

var (
	specialToken = lazyregexp.New(`<\|[^|>]*\|?>.*`)
	usableID     = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)
)

// name removes the tokens and prefixes that some models add to a name.
func (n *normalizer) name(name string) string {
	clean := strings.Trim(specialToken().ReplaceAllString(name, ""), " \t\r\n\"'`")
	if found := knownName(clean, n.known); found != "" {
		return found
	}
	for _, prefix := range []string{"functions.", "function.", "tools.", "tool.", "default_api.",
		"default_api:"} {
		if rest, ok := strings.CutPrefix(clean, prefix); ok {
			if found := knownName(rest, n.known); found != "" {
				return found
			}
			return rest
		}
	}
	return clean
}

// knownName returns the known name that equals name except for case, or "".
func knownName(name string, known []string) string {
	if slices.Contains(known, name) {
		return name
	}
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
	}
	return ""
}

// id gives the call a valid unique ID. It returns false if the call is a copy.
func (n *normalizer) id(c *message.ToolCall) bool {
	what := c.Name + "\x00" + string(c.Args) + "\x00" + c.Raw
	if before, ok := n.seen[c.ID]; ok && c.ID != "" && before == what {
		return false
	}
	_, used := n.seen[c.ID]
	if used || !usableID().MatchString(c.ID) || n.o.Taken != nil && n.o.Taken(c.ID) {
		c.ID = n.freshID()
	}
	n.seen[c.ID] = what
	return true
}

// idTries limits the search for a free ID if NewID keeps returning used ones.
const idTries = 100

func (n *normalizer) freshID() string {
	id := n.newID()
	for range idTries {
		_, used := n.seen[id]
		if !used && (n.o.Taken == nil || !n.o.Taken(id)) {
			break
		}
		id = n.newID()
	}
	return id
}

func (n *normalizer) newID() string {
	if n.o.NewID != nil {
		return n.o.NewID()
	}
	return randomID()
}

// randomID returns nine lower-case letters and digits. Mistral accepts only IDs of nine letters and
// digits, and other providers accept them too.
func randomID() string {
	const set = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 9)
	for i := range b {
		b[i] = set[rand.IntN(len(set))]
	}
	return string(b)
}
