package jsonrpc

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// specification lists all examples in the JSON-RPC 2.0 specification, and additions from protocol
// 1.1. Error responses are compared by ID and code.
var specification = []struct{ name, in, want string }{
	{
		"positional parameters",
		`{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}`,
		`{"jsonrpc": "2.0", "result": 19, "id": 1}`,
	},
	{
		"positional parameters, the other way",
		`{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}`,
		`{"jsonrpc": "2.0", "result": -19, "id": 2}`,
	},
	{
		"named parameters",
		`{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, ` +
			`"id": 3}`,
		`{"jsonrpc": "2.0", "result": 19, "id": 3}`,
	},
	{
		"named parameters, the other way",
		`{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, ` +
			`"id": 4}`,
		`{"jsonrpc": "2.0", "result": 19, "id": 4}`,
	},
	{"a notification", `{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}`, ``},
	{"a notification without parameters", `{"jsonrpc": "2.0", "method": "foobar"}`, ``},
	{
		"a method that does not exist",
		`{"jsonrpc": "2.0", "method": "foobar", "id": "1"}`,
		`{"jsonrpc": "2.0", "error": {"code": -32601}, "id": "1"}`,
	},
	{
		"invalid JSON",
		`{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]`,
		`{"jsonrpc": "2.0", "error": {"code": -32700}, "id": null}`,
	},
	{
		"an invalid request",
		`{"jsonrpc": "2.0", "method": 1, "params": "bar"}`,
		`{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}`,
	},
	{
		"a batch of invalid JSON",
		`[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, ` +
			`{"jsonrpc": "2.0", "method" ]`,
		`{"jsonrpc": "2.0", "error": {"code": -32700}, "id": null}`,
	},
	{"an empty array", `[]`, `{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}`},
	{
		"an invalid batch that is not empty",
		`[1]`,
		`[{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}]`,
	},
	{
		"an invalid batch",
		`[1,2,3]`,
		`[{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}, ` +
			`{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}, ` +
			`{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}]`,
	},
	{
		"a batch",
		`[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, ` +
			`{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}, ` +
			`{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"}, ` +
			`{"foo": "boo"}, {"jsonrpc": "2.0", "method": "foo.get", ` +
			`"params": {"name": "myself"}, "id": "5"}, {"jsonrpc": "2.0", "method": "get_data", ` +
			`"id": "9"}]`,
		`[{"jsonrpc": "2.0", "result": 7, "id": "1"}, {"jsonrpc": "2.0", "result": 19, ` +
			`"id": "2"}, {"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}, ` +
			`{"jsonrpc": "2.0", "error": {"code": -32601}, "id": "5"}, ` +
			`{"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}]`,
	},
	{
		"a batch of notifications",
		`[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]}, ` +
			`{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]`,
		``,
	},
	{
		"text that begins like a batch",
		`[hello`,
		`{"jsonrpc": "2.0", "error": {"code": -32700}, "id": null}`,
	},
	{
		"a batch of one",
		` [{"jsonrpc": "2.0", "method": "sum", "params": [1], "id": 1}]`,
		`[{"jsonrpc": "2.0", "result": 1, "id": 1}]`,
	},
	{
		"a batch in which null and a string occur",
		`[null, "x", {"jsonrpc": "2.0", "method": "sum", "params": [1], "id": 1}]`,
		`[{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}, ` +
			`{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}, ` +
			`{"jsonrpc": "2.0", "result": 1, "id": 1}]`,
	},
	{
		"a response that nobody waits for, in a batch",
		`[{"jsonrpc": "2.0", "result": 1, "id": 77}, {"jsonrpc": "2.0", "method": "sum", ` +
			`"params": [1], "id": 1}]`,
		`[{"jsonrpc": "2.0", "result": 1, "id": 1}]`,
	},
}

// specServer is the server that the examples call.
func specServer(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	var list []int
	switch req.Method() {
	case "subtract":
		var named struct{ Minuend, Subtrahend int }
		if json.Unmarshal(req.Params(), &list) == nil {
			return list[0] - list[1], nil
		}
		err := json.Unmarshal(req.Params(), &named)
		return named.Minuend - named.Subtrahend, err
	case "sum":
		n := 0
		err := json.Unmarshal(req.Params(), &list)
		for _, v := range list {
			n += v
		}
		return n, err
	case "get_data":
		return []any{"hello", 5}, nil
	case "update", "notify_hello", "notify_sum":
		return nil, nil
	}
	if !req.IsCall() {
		return nil, nil
	}
	return nil, jsonrpc2.ErrMethodNotFound
}

// plainAnswer removes the parts of a response that the specification leaves undefined, and sorts
// the responses of a batch.
func plainAnswer(t *testing.T, text string) any {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	plain := func(v any) any {
		if e, ok := v.(map[string]any)["error"].(map[string]any); ok {
			delete(e, "message")
			delete(e, "data")
		}
		return v
	}
	if list, ok := v.([]any); ok {
		counts := map[string]int{}
		for _, m := range list {
			b, _ := json.Marshal(plain(m))
			counts[string(b)]++
		}
		return counts
	}
	return plain(v)
}

func TestSpecification(t *testing.T) {
	for _, c := range specification {
		for _, lines := range []bool{false, true} {
			if got := talk(
				t,
				lines,
				c.in,
			); !reflect.DeepEqual(
				plainAnswer(t, got),
				plainAnswer(t, c.want),
			) {
				t.Errorf("%s (lines %v): got %s, want %s", c.name, lines, got, c.want)
			}
		}
	}
}

// talk sends a frame followed by a final request. It returns everything that arrived before the
// response to the final request.
func talk(t *testing.T, lines bool, body string) string {
	t.Helper()
	const last = `{"jsonrpc":"2.0","method":"sum","params":[],"id":"last"}`
	in, feed := io.Pipe()
	var sent lockedBuffer
	var s *Stream
	var out *Outbox
	frame := frameOf
	if lines {
		out = NewLineOutbox(&sent, `"}`)
		s, frame = NewLineStream(in, out), func(body string) string { return body + "\n" }
	} else {
		out = NewOutbox(&sent)
		s = NewStream(in, out)
	}
	conn := jsonrpc2.NewConn(s)
	conn.Go(t.Context(), specServer)
	if _, err := io.WriteString(feed, frame(body)+frame(last)); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(string(sent.bytes()), `"last"`) {
		time.Sleep(time.Millisecond)
	}
	_ = s.Close()
	_ = conn.Close()
	out.Close()
	<-out.Done()
	var bodies []string
	if lines {
		bodies = strings.Split(strings.TrimSpace(string(sent.bytes())), "\n")
	} else {
		for _, m := range parseFrames(t, sent.bytes()) {
			bodies = append(bodies, string(m))
		}
	}
	if n := len(bodies); n > 2 || !strings.Contains(bodies[n-1], `"last"`) {
		t.Errorf("%s: answered by %q", body, bodies)
	}
	return strings.Join(bodies[:len(bodies)-1], "\n")
}
