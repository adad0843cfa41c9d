package repair_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

func TestJSON(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"valid as it is", `{"a" : 1}`, `{"a" : 1}`},
		{"trailing comma", `{"a":[1,2,],}`, `{"a":[1,2]}`},
		{"single quotes", `{'a':'it\'s "x"'}`, `{"a":"it's \"x\""}`},
		{"apostrophe in double quotes stays", `{"a":"it's, }",}`, `{"a":"it's, }"}`},
		{"comma brace in a string stays", `{"a":",}", "b":'x',}`, `{"a":",}","b":"x"}`},
		{"unquoted keys", `{path: "a", line_no: 3}`, `{"path":"a","line_no":3}`},
		{"python", `{'a': True, 'b': None, 'c': False}`, `{"a":true,"b":null,"c":false}`},
		{"fence", "```json\n{\"a\":1,}\n```", `{"a":1}`},
		{"comments", "{\"a\":1, // one\n /* two */ \"b\":\"http://x\"}", `{"a":1,"b":"http://x"}`},
		{"missing closers", `{"a":{"b":[1,2`, `{"a":{"b":[1,2]}}`},
		{"missing comma", "{\"a\":\"x\"\n\"b\":2}", `{"a":"x","b":2}`},
		{"raw newline and tab", "{\"a\":\"x\ny\tz\"}", `{"a":"x\ny\tz"}`},
		{"regexp escapes", `{"a":"\d+\.go\w"}`, `{"a":"\\d+\\.go\\w"}`},
		{"hex escape", `{"a":"\x41"}`, `{"a":"A"}`},
		{"bare pairs", `"a": 1, "b": "two"`, `{"a":1,"b":"two"}`},
		{"twice", `{"a":1}{"a":1}`, `{"a":1}`},
		{"extra closer", `{"a":1}}`, `{"a":1}`},
		{"inner quotes", `{"a":"say "hi" now"}`, `{"a":"say \"hi\" now"}`},
		{"typographic quotes", `{“a”: “b”}`, `{"a":"b"}`},
		{"leading zero, plus, hex", `{a: +1, b: .5, c: 0x10, d: 007}`,
			`{"a":1,"b":0.5,"c":16,"d":"007"}`},
		{"unquoted text", `{path: src/main.go, n: 1}`, `{"path":"src/main.go","n":1}`},
		{"big number kept", `{"a":12345678901234567890,}`, `{"a":12345678901234567890}`},
		{"closing tag behind", `{"a":1,}</tool_call>`, `{"a":1}`},
		{"arrow", `{"a" => 1}`, `{"a":1}`},
	} {
		got, ok := repair.JSON(c.raw)
		if !ok || !sameJSON(string(got), c.want) {
			t.Errorf("%s: JSON(%s) = %s, %v; want %s", c.name, c.raw, got, ok, c.want)
		}
	}
	for _, raw := range []string{"", "hello", "just prose: with a colon { and }",
		"{\"a\":1} and then prose", "}{", "\x00", strings.Repeat("[", 5000)} {
		if got, ok := repair.JSON(raw); ok && !json.Valid(got) {
			t.Errorf("JSON(%.40q) = %s is reported as valid", raw, got)
		}
	}
	for _, raw := range []string{"", "hello", "{\"a\":1} and then prose"} {
		if got, ok := repair.JSON(raw); ok {
			t.Errorf("JSON(%q) = %s, want none", raw, got)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil &&
		reflect.DeepEqual(x, y)
}

// worst returns texts for which a naive scanner takes quadratic time.
func worst(size int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"prose": rep("The quick brown fox, name: it.\n"), "open braces": rep("{"),
		"open brace quote": rep(`{"`), "keys": "{" + rep(`a:1,`),
		"open tags": rep("<tool_call>"), "open tags, one closer": rep("<tool_call>") +
			"</tool_call>", "functions": rep("<function=read>"), "fences": rep("```\n"),
		"name lines": rep("name: read\n"), "name lines with args": rep("name: read\nargs: {\n"),
		"quotes": `{"a":"` + rep(`" `), "blank": "{" + rep(" "), "backslashes": `{"a":"` + rep(`\`),
		"calls":      rep(`<tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call>` + "\n"),
		"bare calls": rep("{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n"),
		"line ends":  rep("\n"), "mistral": rep("[TOOL_CALLS]"), "inline": rep("` <tool_call>{"),
		"python": rep("<|python_tag|>a("), "escapes": rep("\x1b["), "osc": rep("\x1b]"),
		"tool json": rep("read {"), "brackets": rep("[{"),
		"nested fences": rep("```json\n{\"name\": "), "parameters": "<function=read>" +
			rep("<parameter=a>"),
		"args far": rep("name: read\n\n\n\n\n\n\n\n\nargs:\n"), "wrappers": rep("<tool_calls>"),
		"unknown calls": rep(`<tool_call>{"name":"fly","arguments":{}}</tool_call>` + "\n"),
		"names alone":   rep(`{"name":"x"}` + "\n"),
		"example calls": rep(`> <tool_call>{"name":"read","arguments":{"a":1}}</tool_call>` + "\n"),
		"quoted args":   rep("name: read\nargs: \"{}\"\n"), "long lines": rep(`read {"path":1} `),
		"glm":        "<tool_call>read" + rep("<arg_key>a</arg_key><arg_value>b"),
		"kimi":       rep("<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"),
		"deepseek":   rep("<｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n{"),
		"named tags": rep("<tool=read>{\"a\":"), "python args": "<|python_tag|>read(" +
			rep(
				"a=1,",
			) + ")", "fenced calls": rep("```json\n{\"name\":\"read\",\"arguments\":{\"n\":1}}\n```\n"), "json lines in a tag": "<tool_call>" + rep("{\"name\":\"read\"}\n"),
		"open tags with names": rep("<tool_call>{\"name\":"), "nested json": "<tool_call>" +
			rep("{\"name\":[") + "</tool_call>", "unicode quotes": "{“a”:“" + rep("“"),
		"spaces": "name: read\nargs:" + rep(" "),
	}
}

// TestLinear checks that processing 1 MB (a tenth of that unless tests run at full size) does not
// take quadratic time. The limit of two minutes allows for a busy machine.
func TestLinear(t *testing.T) {
	for name, run := range map[string]func(string){
		"ParseCalls": func(s string) { repair.ParseCalls(s, []string{"read", "write"}) },
		"JSON":       func(s string) { repair.JSON(s) },
		"StripANSI":  func(s string) { repair.StripANSI(s) },
	} {
		large := worst(testspeed.Size(1 << 20))
		for kind := range large {
			begin := time.Now()
			run(large[kind])
			// 1 MB takes tens of milliseconds. A quadratic algorithm would take minutes.
			if d := time.Since(begin); d > 2*time.Minute {
				t.Errorf("%s of 1 MB %s took %v", name, kind, d)
			} else if testing.Verbose() && d > 40*time.Millisecond {
				t.Logf("%s of 1 MB %s: %v", name, kind, d)
			}
		}
	}
}

func BenchmarkJSON1MB(b *testing.B) {
	var s strings.Builder
	s.WriteString("{'items': [")
	for s.Len() < 1<<20 {
		s.WriteString(`{'path': 'src/main.go', line: 12, "text": "it's a \"quoted\" line\n", ` +
			`ok: True,}, `)
	}
	s.WriteString("]")
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		if _, ok := repair.JSON(s.String()); !ok {
			b.Fatal("not repaired")
		}
	}
}

func BenchmarkParseCalls1MB(b *testing.B) {
	prose := strings.Repeat(
		"Some prose with `code {}` and a map {\"a\": 1}.\nname: value\n\n```go\nfunc main() { fmt.Println(\"x\") }\n```\n",
		(1<<20)/110,
	)
	text := prose + "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if calls, _ := repair.ParseCalls(text, []string{"read"}); len(calls) != 1 {
			b.Fatal("not found")
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":1,}`, `{'a': "b"`, "```json\n{}\n```", `{"a":"\u12"}`,
		`[1 2 3`, `"a":1`, "{a:\"\x80\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := repair.JSON(s)
		if ok && !json.Valid(got) {
			t.Fatalf("JSON(%q) = %q is not valid", s, got)
		}
		if json.Valid([]byte(s)) && (!ok || string(got) != s) {
			t.Fatalf("JSON(%q) changed a valid document to %q", s, got)
		}
	})
}
