package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a model sends as arguments: no panic, and what passes is an object that passes again unchanged.
func FuzzArguments(f *testing.F) {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","minimum":0},
		"deep":{"type":"array","items":{"type":"object","properties":{"x":{"type":["number","null"]}},"required":["x"]}},
		"mode":{"enum":["a","b"]}},"required":["path"],"additionalProperties":false}`)
	a := newArgSchema(Spec{Schema: schema, ParamAliases: map[string]string{"file": "path"}})
	for _, s := range []string{
		`{"path":"a"}`, `{"file":1,"n":"12"}`, `{"path":"a","deep":"[{\"x\":\"1\"}]"}`, `[]`, ``, `{"path":null,"n":1e400}`,
		`{"path":"a","deep":[{"x":null}],"mode":"c"}`, `{"PATH":"a","Path":"b"}`, "{\"path\":\"\xff\"}", `{"path":"a","mode":1e-999999999}`, `{"path":"a","mode":1e999999999,"n":1e999999999}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, problems := a.prepare(json.RawMessage(s))
		for _, p := range problems {
			if strings.TrimSpace(p) == "" {
				t.Error("an empty problem")
			}
		}
		if problems != nil {
			return
		}
		again, problems := a.prepare(out)
		if problems != nil || string(again) != string(out) || !json.Valid(out) {
			t.Errorf("%q became %q, then %q: %v", s, out, again, problems)
		}
	})
}

// Deltas cut anywhere: the pieces put together are the whole, made valid.
func FuzzWholeRunes(f *testing.F) {
	f.Add("a\xe4\xb8\xadb", 2)
	f.Add("\xff\xf0\x9f", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		var got strings.Builder
		rest := ""
		for at, step := 0, max(1, n%7); at < len(s); at += step {
			var whole string
			whole, rest = wholeRunes(rest + s[at:min(len(s), at+step)])
			if !utf8.ValidString(whole) {
				t.Fatalf("%q is not valid", whole)
			}
			got.WriteString(whole)
		}
		got.WriteString(validUTF8(rest))
		if got.String() != validUTF8(s) {
			t.Errorf("%q in pieces is %q", s, got.String())
		}
	})
}
