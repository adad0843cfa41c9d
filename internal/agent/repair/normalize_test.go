package repair_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
)

func assistant(stop message.StopReason, calls ...message.ToolCall) *message.Message {
	m := &message.Message{Role: message.RoleAssistant, Stop: stop}
	for i := range calls {
		if calls[i].Args == nil {
			calls[i].Args = json.RawMessage("{}")
		}
		m.Content = append(m.Content, message.Block{Type: message.ToolUse, Call: &calls[i]})
	}
	return m
}

func options() repair.Options {
	o := repair.Default()
	n := 0
	o.NewID = func() string { n++; return fmt.Sprintf("new%d", n) }
	return o
}

// TestNormalizer checks how tool calls are normalized, and that malformed arguments are reported to
// the model.
func TestNormalizer(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		name  string
		in    []message.ToolCall
		want  string // ID, name and arguments of each call, and the text of one that has a problem
		dropd int
	}{
		{"untouched", []message.ToolCall{{ID: "a", Name: "read", Args: raw(`{"x":1}`)}},
			`a read {"x":1}`, 0},
		{"no id", []message.ToolCall{{Name: "read"}}, `new1 read {}`, 0},
		{"id of a wrong form", []message.ToolCall{{ID: "call.1:é", Name: "read"}}, `new1 read {}`,
			0},
		{"id taken in the session", []message.ToolCall{{ID: "old", Name: "read"}}, `new1 read {}`,
			0},
		{"two calls of one id", []message.ToolCall{{ID: "a", Name: "read"},
			{ID: "a", Name: "bash"}}, `a read {}; new1 bash {}`, 0},
		{"a copy", []message.ToolCall{{ID: "a", Name: "read"}, {ID: "a", Name: "read"}},
			`a read {}`, 1},
		{"like calls of two ids stay",
			[]message.ToolCall{{ID: "a", Name: "read"}, {ID: "b", Name: "read"}},
			`a read {}; b read {}`, 0},
		{"channel token", []message.ToolCall{{ID: "a", Name: "read<|channel|>commentary"}},
			`a read {}`, 0},
		{"prefix and case", []message.ToolCall{{ID: "a", Name: "functions.Read"}}, `a read {}`, 0},
		{"no name", []message.ToolCall{{ID: "a"}, {ID: "b", Name: "read"}}, `a  {}; b read {}`, 0},
		{"a copy of other content", []message.ToolCall{{ID: "a", Name: "read",
			Args: raw(`{"x":1}`)}, {ID: "a", Name: "read", Args: raw(`{"x":2}`)}},
			`a read {"x":1}; new1 read {"x":2}`, 0},
		{"repaired", []message.ToolCall{{ID: "a", Name: "read", Raw: `{'x': "it's",}`}},
			`a read {"x":"it's"}`, 0},
		{"string in a string", []message.ToolCall{{ID: "a", Name: "read", Raw: `"{\"x\":1}"`}},
			`a read {"x":1}`, 0},
		{"closer missing", []message.ToolCall{{ID: "a", Name: "read", Raw: `{"x":{"y":1}`}},
			`a read {"x":{"y":1}}`, 0},
		{"beyond repair", []message.ToolCall{{ID: "a", Name: "read", Raw: `read the file`}},
			`a read {} !read the file`, 0},
		{"a cut string is not guessed",
			[]message.ToolCall{{ID: "a", Name: "write_file", Raw: `{"content":"half`}},
			`a write_file {} !{"content":"half`, 0},
		{"a list", []message.ToolCall{{ID: "a", Name: "read", Raw: `[1]`}}, `a read {} ![1]`, 0},
	} {
		o := options()
		o.Taken = func(id string) bool { return id == "old" }
		got, report := repair.Normalize(assistant(message.StopToolUse, c.in...), tools, o)
		var list []string
		for _, k := range got.ToolCalls() {
			s := fmt.Sprintf("%s %s %s", k.ID, k.Name, k.Args)
			if k.Problem != "" {
				s += " !" + k.Raw
			}
			list = append(list, s)
		}
		if s := strings.Join(list, "; "); s != c.want || report.Dropped != c.dropd {
			t.Errorf("%s: got %s (%+v), want %s", c.name, s, report, c.want)
		}
	}
}

func TestNormalizerLeavesTheOriginal(t *testing.T) {
	m := assistant(message.StopToolUse, message.ToolCall{Name: "Read", Raw: "{a:1}"})
	got, _ := repair.Normalize(m, tools, options())
	if m.ToolCalls()[0].Name != "Read" || got == m {
		t.Error("the original message was modified")
	}
	same := assistant(message.StopToolUse, message.ToolCall{ID: "a", Name: "read"})
	if got, _ := repair.Normalize(same, tools, options()); got != same {
		t.Error("a valid message was copied")
	}
	off, _ := repair.Normalize(m, tools, repair.Options{})
	if off != m {
		t.Error("the option does not turn the normalizer off")
	}
}

// If a reply is cut off at the length limit, the unfinished call is removed.
func TestLengthCutOffStripsTheUnfinishedCall(t *testing.T) {
	m := assistant(message.StopLength,
		message.ToolCall{ID: "a", Name: "read", Args: json.RawMessage(`{"x":1}`)},
		message.ToolCall{ID: "b", Name: "bash", Raw: `{"command":"rm -rf /t`})
	got, report := repair.Normalize(m, tools, options())
	if calls := got.ToolCalls(); len(calls) != 1 || calls[0].ID != "a" || report.Stripped != 1 {
		t.Errorf("calls %v, report %+v", calls, report)
	}
}

func TestFallbackParserSwitch(t *testing.T) {
	m := message.NewText(message.RoleAssistant,
		"I look.\n<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>")
	m.Stop = message.StopEnd
	o := options()
	if got, _ := repair.Normalize(m, tools, o); len(got.ToolCalls()) != 0 {
		t.Error("parsed although the option is off")
	}
	o.FallbackParser = true
	got, report := repair.Normalize(m, tools, o)
	if len(got.ToolCalls()) != 1 || got.TextContent() != "I look." ||
		got.Stop != message.StopToolUse || report.FromText != 1 {
		t.Errorf("got %+v, %+v", got, report)
	}
}

// TestANSIStrip checks that ANSI escape sequences are removed.
func TestANSIStrip(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                "plain",
		"\x1b[1;31mred\x1b[0m": "red",
		"\x1b]0;title\x07text": "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b(Bcharset":       "charset",
		"\x1bPdcs\x1b\\after": "after",
		"a\x1b7b\x1b8c":       "abc",
		"\u009b31mx":          "x",
		"\x1b]never ends":     "never ends",
		"end\x1b":             "end",
	} {
		if got := repair.StripANSI(in); got != want {
			t.Errorf("StripANSI(%q) = %q, want %q", in, got, want)
		}
		var stream repair.ANSIStream
		pieces := ""
		for i := range len(in) {
			pieces += stream.Add(in[i : i+1])
		}
		if pieces += stream.End(); pieces != want {
			t.Errorf("in pieces %q = %q, want %q", in, pieces, want)
		}
	}
}

func answer(text string, stop message.StopReason) *message.Message {
	m := message.NewText(message.RoleAssistant, text)
	m.Stop = stop
	return m
}

// TestValidator checks the verdict on each kind of answer, such as blank, truncated, tentative or
// repetitive.
func TestValidator(t *testing.T) {
	all := repair.Default().WithChecks([]string{"blank", "truncated", "tentative", "repetitive",
		"reasoningOnly"})
	long := "the tests pass now because the parser reads the last line and the reader closes the file after it"
	for _, c := range []struct {
		name, text, previous string
		after                bool
		o                    repair.Options
		want                 repair.Verdict
	}{
		{"good", "Done.", "", true, all, repair.Accept},
		{"short known answers", "Yes", "", true, all, repair.Accept},
		{"blank", " \n\t\u200b", "", false, repair.Default(), repair.Blank},
		{"dots", "and then...", "", false, repair.Default(), repair.Truncated},
		{"comma", "first,", "", false, repair.Default(), repair.Truncated},
		{"fence", "```go\nfunc", "", false, repair.Default(), repair.Truncated},
		{"rule is no dash", "text\n---", "", false, repair.Default(), repair.Accept},
		{"tentative is off by default", "Let me check the file.", "", true, repair.Default(),
			repair.Accept},
		{"tentative", "Let me check the file.", "", true, all, repair.Tentative},
		{"tentative only after tools", "Let me check the file.", "", false, all, repair.Accept},
		{"a question is an answer", "Let me know: should I go on?", "", true, all, repair.Accept},
		{"repetitive", strings.ToUpper(long), long, false, all, repair.Repetitive},
		{"mostly the same words", long + " indeed", long, false, all, repair.Repetitive},
		{"no previous", long, "", false, all, repair.Accept},
		{"short and different", "All is done.", "All is well.", false, all, repair.Accept},
	} {
		got, nudge := repair.Validate(repair.Answer{Message: answer(c.text, message.StopEnd),
			AfterTools: c.after, Previous: c.previous}, &repair.Budget{}, c.o)
		if got != c.want || (nudge == "") != (c.want == repair.Accept) {
			t.Errorf("%s: got %q with nudge %q, want %q", c.name, got, nudge, c.want)
		}
	}
	m := &message.Message{Role: message.RoleAssistant, Stop: message.StopEnd,
		Content: []message.Block{{Type: message.Reasoning, Text: "I think a lot"}}}
	if got, _ := repair.Validate(repair.Answer{Message: m}, &repair.Budget{},
		all); got != repair.ReasoningOnly {
		t.Errorf("reasoning only: %q", got)
	}
}

func TestValidatorBudgets(t *testing.T) {
	count := func(text string, after bool, o repair.Options) (n int, last repair.Verdict) {
		var b repair.Budget
		for n = 0; n < 10; n++ {
			v, nudge := repair.Validate(repair.Answer{Message: answer(text, message.StopEnd),
				AfterTools: after}, &b, o)
			if last = v; nudge == "" {
				return n, last
			}
		}
		return n, last
	}
	o := repair.Default()
	o.Tentative = true
	if n, last := count("", false, o); n != repair.MaxBlankNudges || last != repair.Blank {
		t.Errorf("blank: %d nudges, then %q", n, last)
	}
	if n, last := count("and...", false, o); n != repair.MaxContinuations || last != repair.Accept {
		t.Errorf("truncated: %d nudges, then %q", n, last)
	}
	if n, last := count("Let me look.", true, o); n != repair.MaxTentativeNudges ||
		last != repair.Accept {
		t.Errorf("tentative: %d nudges, then %q", n, last)
	}
	if n, last := count("", false, repair.Options{}); n != 0 || last != repair.Accept {
		t.Errorf("option off: %d nudges, then %q", n, last)
	}
}
