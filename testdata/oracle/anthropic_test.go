package oracle

import (
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	ours "github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
)

const claude = "claude-sonnet-4-5"

var messagesAPI = &modeltest.API{
	New: func(o modelhttp.Options) modeltest.Model { return ours.New(o) },
}

// claudeReads streams params through the SDK and returns the accumulated reply.
func claudeReads(t *testing.T, w *wire, params anthropic.MessageNewParams) *anthropic.Message {
	t.Helper()
	client := anthropic.NewClient(
		option.WithAPIKey("k"), option.WithHTTPClient(&http.Client{Transport: w}),
	)
	s := client.Messages.NewStreaming(t.Context(), params)
	var m anthropic.Message
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return &m
}

// claudeReply converts the SDK's message to a reply.
func claudeReply(m *anthropic.Message) reply {
	u := m.Usage
	out := reply{
		Stop:   string(m.StopReason),
		Input:  int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens),
		Output: int(u.OutputTokens), Cached: int(u.CacheReadInputTokens),
	}
	for _, b := range m.Content {
		out.Text, out.Thinking = out.Text+b.Text, out.Thinking+b.Thinking
		if b.Type == "tool_use" {
			out.call(b.ID, b.Name, string(b.Input))
		}
	}
	return out
}

// TestAnthropic checks that the adapter and the SDK decode the documented streams identically, and
// that their next requests in the conversation are equal. The cache marks are not compared, because
// the SDK's caller chooses their positions.
func TestAnthropic(t *testing.T) {
	for _, name := range []string{"weather.sse", "thinking.sse"} {
		answer := fixture(t, "anthropic/testdata/"+name)
		first := generate(t, messagesAPI.New(options(claude, stream(answer))),
			modeltest.User("Weather?"))
		params := anthropic.MessageNewParams{
			Model: claude, MaxTokens: 32000,
			Messages: []anthropic.MessageParam{
				anthropic.NewUserMessage(anthropic.NewTextBlock("Weather?")),
			},
		}
		theirs := claudeReads(t, stream(answer), params)
		same(t, name, read(first), claudeReply(theirs))

		w := stream(answer)
		generate(t, messagesAPI.New(options(claude, w)), request(first.Message))
		params.System = []anthropic.TextBlockParam{{Text: "Be careful."}}
		params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "get_weather", Description: anthropic.String("weather"),
			InputSchema: anthropic.ToolInputSchemaParam{
				Properties: map[string]any{"city": map[string]string{"type": "string"}},
				Required:   []string{"city"},
			},
		}}}
		var last []anthropic.ContentBlockParamUnion
		for _, b := range theirs.Content {
			if b.Type == "tool_use" {
				result := anthropic.NewToolResultBlock(b.ID, "sunny", false)
				result.OfToolResult.IsError = param.Opt[bool]{} // the SDK's helper would send false
				last = append(last, result)
			}
		}
		last = append(last, anthropic.NewTextBlock("And now?"))
		params.Messages = append(params.Messages, theirs.ToParam(),
			anthropic.NewUserMessage(last...))
		sdk := stream(answer)
		claudeReads(t, sdk, params)
		equal(t, name, w.Body, sdk.Body, "cache_control")
	}
}

// TestAnthropicRequests checks that requests with any history pass through the SDK's types without
// loss.
func TestAnthropicRequests(t *testing.T) {
	answer := fixture(t, "anthropic/testdata/thinking.sse")
	histories(t, messagesAPI, claude, answer, func(body []byte) error {
		return survives(body, &anthropic.MessageNewParams{})
	})
}
