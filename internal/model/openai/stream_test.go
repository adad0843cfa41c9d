package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

func normalize(r io.Reader) (string, error) {
	b, err := io.ReadAll(newStream(&modelhttp.Answer{Events: modelhttp.NewEvents(r, 1<<20, 0,
		endMark)}))
	return string(b), err
}

func TestStream(t *testing.T) {
	for in, want := range map[string]string{
		"data: {}\n\n":                      "data: {}\n\n",
		"data:{}":                           "data: {}\n\n",
		"\xef\xbb\xbfdata: {}\r\n\r\n":      "data: {}\n\n",
		"data: {}\r\rdata: [DONE]\r\r":      "data: {}\n\ndata: [DONE]\n\n",
		"data: {\"a\":\ndata: 1}\n\n":       "data: {\"a\": 1}\n\n",
		"data: {}\ndata: {}\n\n":            "data: {}\n\ndata: {}\n\n",
		": comment\n\nid: 3\nretry: 4\n\n":  "",
		"data:\n\ndata: \n\n":               "",
		"event: x\ndata: {}\n\n":            "data: {}\n\n",
		"data: {\"error\":1}\n\n":           "data: {\"_\":0,\"error\":1}\n\n",
		"data: { \"error\" : 1}\n\n":        "data: {\"_\":0, \"error\" : 1}\n\n",
		"event: error\ndata: {\"m\":1}\n\n": "data: {\"_\":0,\"error\":{\"m\":1}}\n\n",
		"event: error\ndata: oops\n\ndata: {}\n\n": "" +
			"data: {\"_\":0,\"error\":\"oops\"}\n\ndata: {}\n\n",
		"data: {\"a\":\"}{\"}\ndata: [DONE]": "data: {\"a\":\"}{\"}\n\ndata: [DONE]\n\n",
		"":                                   "",
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(in),
			"by bytes": iotest.OneByteReader(strings.NewReader(in))} {
			if got, err := normalize(r); got != want || err != nil {
				t.Errorf("%q %s: got %q, %v; want %q", in, name, got, err, want)
			}
		}
	}
	if _, err := normalize(strings.NewReader("data: " +
		strings.Repeat("x", 2<<20))); !errors.Is(err, retry.ErrReplyTooLong) {
		t.Errorf("an event above the limit: %v", err)
	}
}

// FuzzSSE checks that a stream gives the same lines however it is split, and that each line is one
// event that begins with "data: ".
func FuzzSSE(f *testing.F) {
	f.Add([]byte("data: {}\r\n\r\ndata: [DONE]\n\n"))
	f.Add([]byte("\xef\xbb\xbfevent: error\rdata: x\r\r: c\n"))
	f.Add([]byte("data: {\"a\":\ndata: 1}\n\n\xff\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, err := normalize(bytes.NewReader(b))
		cut, err2 := normalize(iotest.OneByteReader(bytes.NewReader(b)))
		if whole != cut || (err == nil) != (err2 == nil) {
			t.Fatalf("%q: as a whole %q, byte by byte %q", b, whole, cut)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(whole, "\n\n"), "\n\n") {
			if line != "" && (!strings.HasPrefix(line, "data: ") || strings.Contains(line, "\n")) {
				t.Fatalf("%q: line %q", b, line)
			}
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
