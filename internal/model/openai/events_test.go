package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// read returns the events of a stream, one per line. "!" marks the events that are named "error".
func read(r io.Reader) (string, error) {
	var b strings.Builder
	next := events(&modelhttp.Answer{Events: modelhttp.NewEvents(r, 1<<20, 0, endMark)})
	for {
		e, err := next()
		if err == io.EOF {
			_, err = next()
		}
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		if len(e.Data) == 0 || bytes.IndexByte(e.Data, '\n') >= 0 {
			return b.String(), fmt.Errorf("the event %q", e.Data)
		}
		if e.IsError {
			b.WriteByte('!')
		}
		b.Write(e.Data)
		b.WriteByte('\n')
	}
}

func TestEvents(t *testing.T) {
	for in, want := range map[string]string{
		"data: {}\n\n":                             "{}\n",
		"data:{}":                                  "{}\n",
		"\xef\xbb\xbfdata: {}\r\n\r\n":             "{}\n",
		"data: {}\r\rdata: [DONE]\r\r":             "{}\n",
		"data: [DONE]\n\ndata: {}\n\n":             "",
		"data: {\"a\":\ndata: 1}\n\n":              "{\"a\": 1}\n",
		"data: {}\ndata: {}\n\n":                   "{}\n{}\n",
		": comment\n\nid: 3\nretry: 4\n\n":         "",
		"data:\n\ndata: \n\n":                      "",
		"event: x\ndata: {}\n\n":                   "{}\n",
		"data: {\"error\":1}\n\n":                  "{\"error\":1}\n",
		"event: error\ndata: {\"m\":1}\n\n":        "!{\"m\":1}\n",
		"event: error\ndata: oops\n\ndata: {}\n\n": "!oops\n{}\n",
		"data: {\"a\":\"}{\"}\ndata: [DONE]":       "{\"a\":\"}{\"}\n",
		"":                                         "",
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(in),
			"by bytes": iotest.OneByteReader(strings.NewReader(in))} {
			if got, err := read(r); got != want || err != nil {
				t.Errorf("%q %s: got %q, %v; want %q", in, name, got, err, want)
			}
		}
	}
	if _, err := read(strings.NewReader("data: " +
		strings.Repeat("x", 2<<20))); !errors.Is(err, retry.ErrReplyTooLong) {
		t.Errorf("an event above the limit: %v", err)
	}
}

// TestWholeAnswer checks that a document is one event on one line.
func TestWholeAnswer(t *testing.T) {
	next := events(&modelhttp.Answer{Whole: []byte("{\n \"a\": 1\r\n}\n")})
	e, err := next()
	if string(e.Data) != `{  "a": 1  }` || err != nil {
		t.Errorf("got %q, %v", e.Data, err)
	}
	if _, err := next(); err != io.EOF {
		t.Errorf("after the document: %v", err)
	}
}

// TestChunksAreSeparate checks that nothing of an event remains in the next one.
func TestChunksAreSeparate(t *testing.T) {
	var text strings.Builder
	client := modelhttp.New(modelhttp.Options{})
	d := newChatDecoder(&call{&modelhttp.Call{Client: client, On: textOnly(t, &text)},
		&Model{Client: client}})
	for _, e := range []string{
		`{"choices":[{"delta":{"content":"a"}},{"index":1,"delta":{"content":"x"}}],"x_groq":{}}`,
		`{"choices":[{}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		`{"choices":[{},{"delta":{"content":"b"}}]}`,
		`{}`,
		`{"choices":[{"delta":{}},{"message":{"content":"y"}}]}`,
	} {
		if err := d.Event(modelhttp.Event{Data: []byte(e)}); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
	if text.String() != "ab" || d.finish != "" || len(d.calls) > 0 || d.usage == nil ||
		d.usage.Input != 3 {
		t.Errorf("text %q, finish %q, calls %v, usage %+v", text.String(), d.finish, d.calls,
			d.usage)
	}
}

// FuzzSSE checks that a stream gives the same events however it is split.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("data: {}\r\n\r\ndata: [DONE]\n\n"))
	f.Add([]byte("\xef\xbb\xbfevent: error\rdata: x\r\r: c\n"))
	f.Add([]byte("data: {\"a\":\ndata: 1}\n\n\xff\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, err := read(bytes.NewReader(b))
		cut, err2 := read(iotest.OneByteReader(bytes.NewReader(b)))
		if whole != cut || (err == nil) != (err2 == nil) {
			t.Fatalf("%q: as a whole %q, byte by byte %q", b, whole, cut)
		}
	})
}

// FuzzChatEvents checks that no event crashes the decoder, that deltas are valid UTF-8, that
// arguments are objects, and that the deltas of the chat API add up to the message.
func FuzzChatEvents(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a\ud83d","tool_calls":[{"index":1,` +
		`"function":{"arguments":{}}}]},"finish_reason":"stop"}]}`))
	f.Add(
		[]byte(
			"{\"choices\":[{\"message\":{\"content\":\"\xe2\x82\"}}]}\n{\"choices\":[{\"delta\":{\"content\":[{\"text\":\"x\"}]}}]}",
		),
	)
	f.Add([]byte(`{"type":"response.output_text.delta","output_index":3,"delta":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, api := range []string{APIChat, APIResponses} {
			var text strings.Builder
			client := modelhttp.New(modelhttp.Options{})
			c := &call{&modelhttp.Call{Client: client, On: textOnly(t, &text)},
				&Model{Client: client}}
			var d modelhttp.Decoder = newChatDecoder(c)
			if api == APIResponses {
				d = newResponsesDecoder(c)
			}
			for line := range bytes.SplitSeq(b, []byte("\n")) {
				if d.Event(modelhttp.Event{Data: line}) != nil {
					return
				}
			}
			c.Over = true
			reply, err := d.Reply()
			if err != nil {
				continue
			}
			for _, k := range reply.Message.ToolCalls() {
				var o map[string]json.RawMessage
				if json.Unmarshal(k.Args, &o) != nil {
					t.Fatalf("arguments %q", k.Args)
				}
			}
			if api == APIChat && reply.Message.TextContent() != text.String() {
				t.Fatalf("deltas %q, text %q", text.String(), reply.Message.TextContent())
			}
		}
	})
}
