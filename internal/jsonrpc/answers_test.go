package jsonrpc

import (
	"bytes"
	"slices"
	"testing"

	"go.lsp.dev/jsonrpc2"
)

func TestAnsweredIDs(t *testing.T) {
	for body, want := range map[string][]jsonrpc2.ID{
		`{"jsonrpc":"2.0","id":7,"result":null}`:           {jsonrpc2.NewNumberID(7)},
		`{"jsonrpc":"2.0","id":"a","error":{"code":1}}`:    {jsonrpc2.NewStringID("a")},
		`{"jsonrpc":"2.0","id":7,"method":"m"}`:            nil,
		`{"jsonrpc":"2.0","method":"m","params":{"id":1}}`: nil,
		// Without a version, the members of this batch are not valid messages.
		`[{"id":1,"result":{}},{"method":"m"},{"id":"b","error":{}}]`: nil,
		`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"m"},` +
			`{"jsonrpc":"2.0","id":"b","error":{"code":1,"message":""}}]`: {
			jsonrpc2.NewNumberID(1), jsonrpc2.NewStringID("b")},
		`[]`: nil, `[`: nil, ``: nil, `{`: nil,
	} {
		if got := AnsweredIDs([]byte(body)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
}

func TestWithout(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"a":1}`, `{"a":1}`},
		{`{"x":1}`, ``},
		{`[{"a":1}, {"b":2}]`, `[{"a":1}, {"b":2}]`},
		{`[{"a":1},{"x":1},{"b":"<` + "\u2028" + `"}]`, `[{"a":1},{"b":"<` + "\u2028" + `"}]`},
		{`[{"x":1},{"x":2}]`, ``},
	} {
		got := Without([]byte(c.body),
			func(m []byte) bool { return bytes.HasPrefix(m, []byte(`{"x"`)) })
		if string(got) != c.want || c.want == "" && got != nil {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
	}
}
