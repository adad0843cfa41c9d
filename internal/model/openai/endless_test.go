package openai_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// endlessHeap is the number of bytes by which the heap may grow during a stream that never ends.
const endlessHeap = 160 << 20

// peakHeap runs f and returns the maximum growth of the heap, in bytes.
func peakHeap(f func()) uint64 {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 { metrics.Read(heap); return heap[0].Value.Uint64() }
	runtime.GC()
	before, peak := read(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			peak = max(peak, read())
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return peak - min(peak, before)
}

// TestEndlessStream checks that, if a provider sends any kind of data without end, the call returns
// an explanatory error and the heap stays small.
func TestEndlessStream(t *testing.T) {
	kib := strings.Repeat("0123456789abcdef", 64)
	chat := func(delta string) func(int) string {
		return func(i int) string {
			return `data: {"choices":[{"index":0,"delta":` + strings.ReplaceAll(
				delta,
				"#",
				fmt.Sprint(i),
			) + "}]}\n\n"
		}
	}
	alternating := func(i int) string {
		return chat([]string{`{"content":"x"}`,
			`{"reasoning_content":"y"}`}[i%2])(i)
	}
	same := func(s string) func(int) string { return func(int) string { return s } }
	bulky := strings.Repeat(kib, 1<<10)
	for i, c := range []struct {
		name, api, begin string
		next             func(int) string
		want             string
	}{
		{"text", "", "", chat(`{"content":"` + kib + `"}`), "16 MiB"},
		{"reasoning", "", "", chat(`{"reasoning":"` + kib + `"}`), "16 MiB"},
		{"refusal", "", "", chat(`{"refusal":"` + kib + `"}`), "16 MiB"},
		{"alternating kinds", "", "", alternating, "16 MiB"},
		{"one call's arguments", "", "",
			chat(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"` +
				kib + `"}}]}`), "16 MiB"},
		{"one call's name", "", "", chat(`{"tool_calls":[{"index":0,"function":{"name":"` + kib +
			`#"}}]}`), "16 MiB"},
		{"calls", "", "", chat(`{"tool_calls":[{"index":#,"id":"c#","function":{"name":"read",` +
			`"arguments":"{}"}}]}`), "256 tool calls"},
		{"signatures of calls", "", "",
			chat(`{"tool_calls":[{"index":#,"id":"c#","function":{"name":"read"},` +
				`"extra_content":"` + bulky + `"}]}`), "16 MiB"},
		{"reasoning details", "", "", chat(`{"reasoning_details":[{"index":#,` +
			`"type":"reasoning.encrypted","data":"` + bulky + `"}]}`), "16 MiB"},
		{"one line", "", "data: ", same(kib), "one of its events"},
		{"one event of many lines", "", "", same("data: " + kib + "\n"), "one of its events"},
		{"one JSON document", "", `{"choices":[{"message":{"content":"`, same(kib),
			"one of its events"},
		{"text of the responses API", openai.APIResponses, "",
			same(`data: {"type":"response.output_text.delta","output_index":0,"delta":"` + kib +
				`"}` + "\n\n"), "16 MiB"},
		{"items of the responses API", openai.APIResponses, "", func(i int) string {
			return fmt.Sprintf(`data: {"type":"response.output_item.done","output_index":%d,`+
				`"item":{"type":"reasoning","id":"r%d","encrypted_content":"%s"}`+
				`}`+"\n\n", i, i, kib)
		}, "16 MiB"},
		{"empty items of the responses API", openai.APIResponses, "", func(i int) string {
			return fmt.Sprintf(`data: {"type":"response.output_item.added","output_index":%d,`+
				`"item":{"type":"message","id":"m"}}`+"\n\n", i)
		}, "16 MiB"},
		{"calls of the responses API", openai.APIResponses, "", func(i int) string {
			return fmt.Sprintf(`data: {"type":"response.output_item.added","output_index":%d,`+
				`"item":{"type":"function_call","call_id":"c%d","name":"read"}}`+"\n\n", i, i)
		}, "256 tool calls"},
	} {
		if !testspeed.Heavy(i) {
			continue
		}
		t.Run(
			c.name,
			func(t *testing.T) {
				checkEndless(t, c.api, modeltest.Endless(c.begin, c.next),
					c.want)
			},
		)
	}
}

func checkEndless(
	t *testing.T,
	api string,
	serve func(http.ResponseWriter, *http.Request),
	want string,
) {
	server := modeltest.NewProvider(t)
	server.Set(serve)
	m := openai.New(
		openai.Options{
			Options: modelhttp.Options{BaseURL: server.URL + "/v1", Model: "m"},
			API:     api,
		},
	)
	defer m.Close()
	var err error
	heard := 0
	peak := peakHeap(func() {
		_, err = m.Generate(
			t.Context(),
			&agent.Request{Messages: []*message.Message{message.NewText(message.RoleUser, "hi")}},
			func(d agent.Delta) { heard += len(d.Text) },
		)
	})
	e := retry.As(err)
	if e == nil || e.Kind != retry.Client || !errors.Is(err, retry.ErrReplyTooLong) ||
		!strings.Contains(e.Message, want) ||
		!strings.Contains(e.Hint, "sampling.maxTokens") {
		t.Errorf("got %v", err)
	}
	if peak > endlessHeap || heard > modelhttp.DefaultMaxReply+1<<20 {
		t.Errorf("the heap grew by %d MiB, %d bytes were passed on", peak>>20, heard)
	}
	t.Logf("heap +%d MiB, %d KiB passed on", peak>>20, heard>>10)
}
