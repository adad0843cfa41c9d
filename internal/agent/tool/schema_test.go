package tool

import (
	"encoding/json"
	"strings"
	"testing"
)

// Argument names and types are corrected, and all problems are reported together.
func TestArgumentPipeline(t *testing.T) {
	const schema = `{"type":"object","required":["path"],"additionalProperties":false,"properties":{
		"path":{"type":"string","description":"the file"},
		"count":{"type":"integer"},
		"force":{"type":"boolean"},
		"tags":{"type":"array","items":{"type":"string"}},
		"mode":{"type":"string","enum":["fast","slow"]},
		"nested":{"type":"object","required":["x"],"additionalProperties":false,
			"properties":{"x":{"type":"number"}}}}}`
	a := newSchema(Spec{Schema: json.RawMessage(schema),
		ParamAliases: map[string]string{"file": "path"}})
	for _, tc := range []struct{ in, want string }{
		{`{"path":"a"}`, `{"path":"a"}`},
		{`{"File":"a"}`, `{"path":"a"}`},
		{`{"PATH":"a"}`, `{"path":"a"}`},
		{`{"path":"a","count":"12","force":"true"}`, `{"count":12,"force":true,"path":"a"}`},
		{`{"path":12}`, `{"path":"12"}`},
		{`{"path":"a","tags":"[\"x\",\"y\"]"}`, `{"path":"a","tags":["x","y"]}`},
		{`{"path":"a","tags":"x"}`, `{"path":"a","tags":["x"]}`},
		{`{"path":"a","count":null}`, `{"path":"a"}`},
		{`{"path":"a","count":123456789012345678}`, `{"path":"a","count":123456789012345678}`},
		{`{"path":"a","nested":"{\"x\":1}"}`, `{"nested":{"x":1},"path":"a"}`},
		{`{"count":"many","mode":"odd","nested":{},"zz":1}`,
			`"path": missing required parameter (string)
"count": must be integer, got string
"mode": must be one of ["fast","slow"], got "odd"
"nested.x": missing required parameter (number)
"zz": unknown parameter; the known parameters are count, force, mode, nested, path, tags`},
		{`{"path":"a","tags":"[1,"}`, `"tags": must be array, got string; it looks like JSON ` +
			`inside a string: send the value itself`},
		{`[]`, `the arguments must be a JSON object, got array`},
	} {
		got, _, problems := a.prepare(json.RawMessage(tc.in))
		if problems != nil {
			got = json.RawMessage(strings.Join(problems, "\n"))
		}
		if string(got) != tc.want {
			t.Errorf("%s:\n got:\n%s\nwant:\n%s", tc.in, got, tc.want)
		}
	}
}

// The schema library checks the keywords that this package's own validator does not support.
func TestLibraryHasTheLastWord(t *testing.T) {
	a := newSchema(Spec{Schema: json.RawMessage(`{"type":"object","properties":{"n":{` +
		`"type":"integer","minimum":3},"s":{"$ref":"#/$defs/s"}},` +
		`"$defs":{"s":{"type":"string","pattern":"^a"}}}`)})
	for in, ok := range map[string]bool{`{"n":3}`: true, `{"n":2}`: false, `{"s":"abc"}`: true,
		`{"s":"xyz"}`: false} {
		if _, _, problems := a.prepare(json.RawMessage(in)); (problems == nil) != ok {
			t.Errorf("%s: %v", in, problems)
		}
	}
	odd := newSchema(Spec{Schema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"$ref":"http://elsewhere/x"}}}`)})
	if _, _, problems := odd.prepare(json.RawMessage(`{"a":1}`)); problems != nil {
		t.Error(problems)
	}
}

// FuzzArguments checks that arbitrary arguments cause no panic. If arguments are accepted, the
// result is a JSON object, and a second check accepts this object without changing it.
func FuzzArguments(f *testing.F) {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},` +
		`"n":{"type":"integer","minimum":0},
		"deep":{"type":"array","items":{"type":"object","properties":{"x":{"type":["number",
			"null"]}},"required":["x"]}},
		"mode":{"enum":["a","b"]}},"required":["path"],"additionalProperties":false}`)
	a := newSchema(Spec{Schema: schema, ParamAliases: map[string]string{"file": "path"}})
	for _, s := range []string{
		`{"path":"a"}`, `{"file":1,"n":"12"}`, `{"path":"a","deep":"[{\"x\":\"1\"}]"}`, `[]`, ``,
		`{"path":null,"n":1e400}`,
		`{"path":"a","deep":[{"x":null}],"mode":"c"}`, `{"PATH":"a","Path":"b"}`,
		"{\"path\":\"\xff\"}", `{"path":"a","mode":1e-999999999}`,
		`{"path":"a","mode":1e999999999,"n":1e999999999}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, _, problems := a.prepare(json.RawMessage(s))
		for _, p := range problems {
			if strings.TrimSpace(p) == "" {
				t.Error("an empty problem")
			}
		}
		if problems != nil {
			return
		}
		again, _, problems := a.prepare(out)
		if problems != nil || string(again) != string(out) || !json.Valid(out) {
			t.Errorf("%q became %q, then %q: %v", s, out, again, problems)
		}
	})
}
