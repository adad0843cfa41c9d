package openai_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/openai"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// TestProxyModel covers the row "Proxy model" (1.11) and its defect (part 3, C 15): the order of thought and text is kept.
func TestProxyModel(t *testing.T) {
	deltas := []agent.Delta{
		{Kind: agent.DeltaReasoning, Text: "a"}, {Kind: agent.DeltaText, Text: "b"}, {Kind: agent.DeltaReasoning, Text: "c"}, {Kind: agent.DeltaText, Text: "d"},
		{Kind: agent.DeltaToolInput, Index: 1, CallID: "c2", Name: "two", Text: `{"x":`}, {Kind: agent.DeltaToolInput, Index: 0, CallID: "c1", Name: "one", Text: `{}`}, {Kind: agent.DeltaToolInput, Index: 1, Text: `1}`},
	}
	var fail error
	p := &openai.Proxy{About: agent.ModelInfo{ID: "m"}, Source: func(_ context.Context, _ *agent.Request, on func(agent.Delta)) (string, *message.Usage, error) {
		for _, d := range deltas {
			on(d)
		}
		return "tool_calls", &message.Usage{Input: 1, Total: 1}, fail
	}}
	var h heard
	reply, err := p.Generate(t.Context(), user("hi"), h.on)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(reply), `reasoning:a text:b reasoning:c text:d c1 one{} c2 two{"x":1} stop=toolUse in=1 total=1`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if h.text.String() != "bd" || h.input.String() != `{"x":{}1}` {
		t.Errorf("heard %q, %q", h.text.String(), h.input.String())
	}
	fail = errors.New("cut")
	if _, err := p.Generate(t.Context(), user("hi"), nil); retry.As(err) == nil || retry.As(err).Kind != retry.Truncated {
		t.Errorf("got %v", err)
	}
}

func TestOwnCertificateAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(say(200, sse, sound)))
	defer server.Close()
	stranger := openai.New(openai.Options{BaseURL: server.URL, Model: "m"})
	defer stranger.Close()
	_, err := stranger.Generate(t.Context(), user("hi"), nil)
	if e := retry.As(err); e == nil || e.Kind != retry.Client || !strings.Contains(e.Hint, "SSL_CERT_FILE") {
		t.Errorf("an unknown authority: %v", err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	friend := openai.New(openai.Options{BaseURL: server.URL, Model: "m", ExtraCAs: ca})
	defer friend.Close()
	if _, err := friend.Generate(t.Context(), user("hi"), nil); err != nil {
		t.Errorf("a known authority: %v", err)
	}
}

// TestProxyRuneInPieces: a relay may cut a text within a rune; what is held back for its rest is given out once.
func TestProxyRuneInPieces(t *testing.T) {
	p := &openai.Proxy{About: agent.ModelInfo{ID: "m"}, Source: func(_ context.Context, _ *agent.Request, on func(agent.Delta)) (string, *message.Usage, error) {
		for _, piece := range []string{"caf\xc3", "\xa9", " and ", "th\xc3", "\xa9"} {
			on(agent.Delta{Kind: agent.DeltaText, Text: piece})
		}
		for _, piece := range []string{`{"x":"caf` + "\xc3", "\xa9", `"}`} {
			on(agent.Delta{Kind: agent.DeltaToolInput, CallID: "c", Name: "one", Text: piece})
		}
		return "tool_calls", nil, nil
	}}
	reply, err := p.Generate(t.Context(), user("hi"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(reply), `text:café and thé c one{"x":"café"} stop=toolUse`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
