package repair_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
)

var tools = []string{"read", "bash", "write_file"}

// show formats the parsed calls and the remaining text as "name{args} …|text". A "!" marks a call
// that has a problem.
func show(text string, known []string) string {
	calls, cleaned := repair.ParseCalls(text, known)
	var b strings.Builder
	for _, c := range calls {
		b.WriteString(c.Name + string(c.Args))
		if c.Problem != "" {
			b.WriteString("!")
		}
		b.WriteString(" ")
	}
	return b.String() + "|" + cleaned
}

// TestFallbackParser checks that calls written as text are recognized.
func TestFallbackParser(t *testing.T) {
	const readA = `read{"path":"a"} |`
	for _, c := range []struct{ name, text, want string }{
		{"1 json fence", "I read.\n```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```\n", readA + "I read."},
		{"1 unlabeled fence", "```\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```",
			readA},
		{"1 two fences", "```json\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n```\n```json\n{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}\n```", `read{"path":"a"} bash{"command":"ls"} |`},
		{"2 function=NAME with its closer", `<function=read>{"path":"a"}</function=read>`, readA},
		{"2 function=NAME </function>",
			"Go.\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\nbye", readA +
				"Go.\n\nbye"},
		{"2 tool=NAME", `<tool=read>{"path":"a"}</tool>`, readA},
		{"2 parameter name=", `<function=read><parameter name="path">a</parameter></function>`,
			readA},
		{"2 typed parameters", "<function=read><parameter=n>5</parameter><parameter=all>true</parameter><parameter=list>[\"x\"]</parameter></function>", `read{"n":5,"all":true,"list":["x"]} |`},
		{"2 a file's content stays text",
			"<function=write_file><parameter=content>\n{\n  \"a\": 1\n}\n</parameter></function>",
			`write_file{"content":"{\n  \"a\": 1\n}"} |`},
		{"2 earlier tool= is not beaten by function=",
			`<tool=bash>{"command":"x"}</tool> <function=read>{"path":"a"}</function>`,
			`bash{"command":"x"} read{"path":"a"} |`},
		{"3 tool", `<tool>{"name":"read","input":{"path":"a"}}</tool>`, readA},
		{"4 tool_use", `<tool_use>{"name":"read","input":{"path":"a"}}</tool_use>`, readA},
		{"5 name and arguments lines", "name: read\narguments: {\"path\":\n \"a\"}", readA},
		{"5 quoted arguments", "tool: read\n\nargs: \"{\\\"path\\\": \\\"a\\\"}\"", readA},
		{"6 bare", "Now: \n{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}", readA +
			"Now:"},
		{"6 tool_calls", `{"tool_calls":[{"type":"function","function":{"name":"read",` +
			`"arguments":"{\"path\":\"a\"}"}}]}`, readA},
		{"6 function_call", `{"function_call":{"name":"read","arguments":{"path":"a"}}}`, readA},
		{"6 tool_use object", `{"tool_use":{"name":"read","input":{"path":"a"}}}`, readA},
		{"6 list", `[{"name":"read","arguments":{"path":"a"}},{"name":"read","arguments":{` +
			`"path":"b"}}]`, `read{"path":"a"} read{"path":"b"} |`},
		{"7 toolname {json}", "read {path: \"a\"}", readA},
		{"7 call:", "call: read {\"path\": \"a\",}", readA},
		{"tool_call", "I will.\n\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>", readA + "I will."},
		{"tool_call not closed", `<tool_call>{"name": "read", "arguments": {"path": "a"}}`, readA},
		{"tool_call twice", "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>\n<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}</tool_call>", `read{"path":"a"} read{"path":"b"} |`},
		{"Qwen coder", "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>", readA},
		{"GLM", "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
			readA},
		{"invoke", "<function_calls>\n<invoke name=\"read\">\n<parameter name=\"path\">a</parameter>\n</invoke>\n</function_calls>", readA},
		{"Mistral list", `[TOOL_CALLS][{"name": "read", "arguments": {"path": "a"}}]`, readA},
		{"Mistral named", `[TOOL_CALLS]read[ARGS]{"path": "a"}`, readA},
		{"python tag", `<|python_tag|>{"name": "read", "parameters": {"path": "a"}}<|eom_id|>`,
			readA},
		{"python call", `<|python_tag|>read.call(path="a")`, readA},
		{"Kimi", `<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"a"}<|tool_call_end|><|tool_calls_section_end|>`, readA},
		{"DeepSeek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"path\":\"a\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", readA},
		{"same call twice", `<tool>{"name":"read","input":{"path":"a"}}</tool><tool>{` +
			`"name":"read","input":{ "path":"a"}}</tool>`, readA},
		{"numbers kept", `<tool>{"name":"read","input":{"n":12345678901234567890}}</tool>`,
			`read{"n":12345678901234567890} |`},
		{"cut off within a string", `<tool_call>{"name":"bash","arguments":{"command":"rm -rf ` +
			`/tmp/x`, `bash{}! |`},

		{"unknown tool", `<tool_call>{"name":"fly","arguments":{}}</tool_call>`,
			`|<tool_call>{"name":"fly","arguments":{}}</tool_call>`},
		{"inline code", "Write `<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>` to call.", "|="},
		{"quotation", "> <tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>", "|="},
		{"quoted", `Say "<tool_call>{"name":"read","arguments":{}}</tool_call>" then.`, "|="},
		{"other language", "```python\n{\"name\":\"read\",\"arguments\":{}}\n```", "|="},
		{"for example", "For example:\n```json\n{\"name\":\"read\",\"arguments\":{}}\n```", "|="},
		{"documentation", "The request is\n```json\n{\"name\":\"bash\",\"arguments\":{\"command\":\"rm -rf /\"}}\n```\nIt deletes everything.", "|="},
		{"prose", "Hello  there.\n\n\n  - name: x\n  - args\n{not json}", "|="},
		{"no arguments key", `{"name":"read","version":"1.0"}`, "|="},
		{"package.json", "{\"name\": \"bash\", \"dependencies\": {}}", "|="},
	} {
		want := strings.Replace(c.want, "|=", "|"+c.text, 1)
		if got := show(c.text, tools); got != want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, want)
		}
	}
}

func TestProseKeepsItsWhiteSpace(t *testing.T) {
	text := "First line.\n\n    indented  twice\n\ttab\n\n<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>\n\nLast   line.\n"
	_, cleaned := repair.ParseCalls(text, tools)
	if want := "First line.\n\n    indented  twice\n\ttab\n\nLast   line."; cleaned != want {
		t.Errorf("got %q, want %q", cleaned, want)
	}
}

func FuzzParseCalls(f *testing.F) {
	for _, s := range worst(200) {
		f.Add(s)
	}
	f.Add("<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>")
	f.Add("<function=read><parameter=a>\xff</parameter>")
	f.Fuzz(func(t *testing.T, s string) {
		calls, cleaned := repair.ParseCalls(s, tools)
		if len(calls) == 0 && cleaned != s {
			t.Fatalf("no call, but %q became %q", s, cleaned)
		}
		for _, c := range calls {
			var o map[string]json.RawMessage
			if c.ID == "" || c.Name == "" || json.Unmarshal(c.Args, &o) != nil {
				t.Fatalf("bad call %+v of %q", c, s)
			}
		}
	})
}
