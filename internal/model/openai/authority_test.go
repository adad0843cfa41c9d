package openai_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

func TestOwnCertificateAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(modeltest.Say(200, sse, sound)))
	defer server.Close()
	stranger := openai.New(
		openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m"}},
	)
	defer stranger.Close()
	_, err := stranger.Generate(t.Context(), modeltest.User("hi"), nil)
	if e := retry.As(
		err,
	); e == nil || e.Kind != retry.Client ||
		!strings.Contains(e.Hint, "SSL_CERT_FILE") {
		t.Errorf("an unknown authority: %v", err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	friend := openai.New(
		openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m", ExtraCAs: ca}},
	)
	defer friend.Close()
	if _, err := friend.Generate(t.Context(), modeltest.User("hi"), nil); err != nil {
		t.Errorf("a known authority: %v", err)
	}
}
