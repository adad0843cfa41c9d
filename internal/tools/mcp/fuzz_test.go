package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// FuzzLines checks that exactly the lines of a server's output that are JSON objects or arrays
// arrive, complete and in order.
func FuzzLines(f *testing.F) {
	f.Add([]byte("Welcome!\n{\"a\":1}\r\n\n  [2]\n{broken\n{\"b\":\"\\n\"}"), uint8(3))
	f.Add([]byte("{}\n{}\n"), uint8(1))
	f.Fuzz(func(t *testing.T, printed []byte, size uint8) {
		var want []byte
		for _, line := range bytes.Split(printed, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 && (line[0] == '{' || line[0] == '[') &&
				json.Valid(line) {
				want = append(append(want, line...), '\n')
			}
		}
		var got []byte
		l, p := newLines(io.NopCloser(bytes.NewReader(printed))), make([]byte, int(size)+1)
		for {
			n, err := l.Read(p)
			got = append(got, p[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%q became %q, not %q", printed, got, want)
		}
	})
}

// scripted is an in-process MCP server over HTTP. It answers each method with the given result.
type scripted map[string]string

func (s scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status,
			Header: http.Header{"Content-Type": {"application/json"}},
			Body:   io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	if r.Method != http.MethodPost {
		return answer(http.StatusMethodNotAllowed, "")
	}
	defer r.Body.Close()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.ID) == 0 {
		return answer(http.StatusAccepted, "")
	}
	result := s[m.Method]
	if result == "" {
		result = "{}"
	}
	return answer(http.StatusOK, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
}

var allowedName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// FuzzServer checks that, whatever a server reports about itself, its tools and a call, the tools
// are valid for every model, the call returns, and the server can be stopped.
func FuzzServer(f *testing.F) {
	const hello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},` +
		`"serverInfo":{"name":"s","version":"1"}}`
	f.Add(hello, `{"tools":[{"name":"a b","description":"x","inputSchema":{"type":"object"}},`+
		`{"name":"a_b","inputSchema":{}}]}`,
		`{"content":[{"type":"text","text":"t"},{"type":"image","data":"AAAA",`+
			`"mimeType":"image/png"},{"type":"resource","resource":{"uri":"x","blob":""}}],`+
			`"structuredContent":{"a":[1]},"isError":true}`)
	f.Add(hello, `{"tools":[{"name":"","inputSchema":true,"annotations":{"readOnlyHint":true}}],`+
		`"nextCursor":"on"}`, `{"content":null}`)
	f.Add(`{"protocolVersion":""}`, `[]`, `5`)
	f.Add(hello, `{"tools":[{"name":"`+strings.Repeat("é", 90)+
		`","title":"\n","inputSchema":{"$ref":"#"}}]}`, `{"content":[{"type":"unknown"}]}`)
	f.Fuzz(func(t *testing.T, initialize, tools, call string) {
		for _, s := range []string{initialize, tools, call} {
			if !json.Valid([]byte(s)) {
				return
			}
		}
		server := scripted{"initialize": initialize, "tools/list": tools, "tools/call": call,
			"resources/list": call, "resources/read": call}
		h := New(Options{http: &http.Client{Transport: server}, Notice: func(string, string) {},
			Changed: func() {}})
		defer h.Close()
		h.opts.listTimeout = 5 * time.Second
		h.Configure([]Config{{Name: "s p", URL: "http://server.invalid", Timeout: 5 * time.Second}})
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		if err := h.settle(ctx); err != nil {
			t.Fatal(err)
		}
		for i, remote := range h.Tools() {
			s := remote.Spec()
			if !allowedName.MatchString(s.Name) || !json.Valid(s.Schema) || s.Schema[0] != '{' ||
				!utf8.ValidString(s.Description) {
				t.Errorf("%q %s %q", s.Name, s.Schema, s.Description)
			}
			if i > 3 {
				continue
			}
			res, err := agenttest.Run(ctx, remote, &tool.Call{Args: json.RawMessage(`{"uri":"x"}`)})
			if ctx.Err() != nil || err == nil && res == nil {
				t.Errorf("%s: %v, %v", s.Name, res, err)
			}
		}
	})
}
