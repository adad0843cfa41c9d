package openai_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

func TestUnknownAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(modeltest.Say(200, sse, sound)))
	defer server.Close()
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"}})
	defer m.Close()
	_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
	e := retry.As(err)
	if e == nil || e.Kind != retry.Client || !strings.Contains(e.Hint, "SSL_CERT_FILE") {
		t.Errorf("an unknown authority: %v", err)
	}
}
