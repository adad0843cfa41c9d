package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/model/modeltest"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// TestRefusedKeyIsAskedAnewOnce checks that after a 401, the key is requested from its source once
// more. If the source returns the same key, that key is not sent again. If KeyRefused returns
// false, no other key exists and the source is not asked.
func TestRefusedKeyIsAskedAnewOnce(t *testing.T) {
	for _, c := range []struct {
		name       string
		keys       []string
		another    bool
		sent, want string
	}{
		{"another", []string{"old", "new"}, true, "old new", ""},
		{"the same", []string{"old", "old"}, true, "old", "auth"},
		{"another that is refused too", []string{"old", "older", "new"}, true, "old older", "auth"},
		{"no other", []string{"old", "new"}, false, "old", "auth"},
	} {
		var sent []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if sent = append(sent, key); key != "new" {
				modeltest.Say(401, "application/json", `{"error":{"message":"no"}}`)(w, r)
				return
			}
			switch {
			case strings.HasSuffix(r.URL.Path, "/models"):
				modeltest.Say(200, "application/json", `{"data":[{"id":"m"}]}`)(w, r)
			case strings.HasSuffix(r.URL.Path, "/embeddings"):
				modeltest.Say(200, "application/json",
					`{"data":[{"index":0,"embedding":[1,0]}]}`)(w, r)
			default:
				modeltest.Say(200, sse, sound)(w, r)
			}
		}))
		asked := 0
		m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m",
			KeyRefused: func(string) bool { return c.another },
			Key: func(context.Context) (string, error) {
				asked++
				return c.keys[asked-1],
					nil
			}}})
		for _, do := range []func() error{
			func() error {
				_, err := m.Generate(t.Context(), modeltest.User("hi"),
					nil)
				return err
			},
			func() error { _, err := m.Models(t.Context()); return err },
			func() error { _, err := m.Embed(t.Context(), []string{"hi"}); return err },
		} {
			sent, asked = nil, 0
			err := do()
			kind := ""
			if e := retry.As(err); e != nil {
				kind = string(e.Kind)
			}
			if got := strings.Join(sent, " "); got != c.sent || kind != c.want {
				t.Errorf("%s: sent %q, %v; want %q, %q", c.name, got, err, c.sent, c.want)
			}
		}
		m.Close()
		server.Close()
	}
}

// TestKeyIsInNoError checks that no error contains the key, in whatever form the provider repeats
// it and however close it is to the end of the quoted text.
func TestKeyIsInNoError(t *testing.T) {
	const key = `q7"Zz\key/9+w`
	server := modeltest.NewProvider(t)
	m := openai.New(openai.Options{Options: modelhttp.Options{BaseURL: server.URL, Model: "m",
		Key: func(context.Context) (string, error) { return key, nil }}})
	defer m.Close()
	long := strings.Repeat("x", 590)
	for _, body := range []string{
		fmt.Sprintf(`{"error":{"message":%q}}`, "bad key "+key),
		fmt.Sprintf(`{"error":{"message":%q}}`, fmt.Sprintf(`{"detail":%q}`, "bad key "+key)),
		fmt.Sprintf(`{"error":{"message":%q}}`, long+key),
		`{"error":{"message":"GET /v1?key=q7%22Zz%5Ckey%2F9%2Bw failed"}}`,
		"no JSON at all: " + key,
	} {
		for _, serve := range []func(http.ResponseWriter, *http.Request){modeltest.Say(401,
			"application/json", body), modeltest.Say(500, "text/plain", body),
			modeltest.Say(200, sse, "event: error\ndata: "+body+"\n\n"),
			modeltest.Say(200, sse, "data: "+key+"\n\n"+done)} {
			server.Set(serve)
			_, generated := m.Generate(t.Context(), modeltest.User("hi"), nil)
			_, embedded := m.Embed(t.Context(), []string{"hi"})
			for _, err := range []error{generated, embedded} {
				if e := retry.As(err); e == nil || strings.Contains(e.Error(), "9+w") ||
					strings.Contains(e.Error(), "9%2Bw") || strings.Contains(e.Error(), "q7") {
					t.Errorf("%s: %v", body, err)
				}
			}
		}
	}
}

// redirecting answers every request with a redirect and records where a key was sent.
type redirecting struct {
	to   string
	keys []string
}

func (r *redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("x-secret-key") != "" {
		r.keys = append(r.keys, req.URL.Scheme+"://"+req.URL.Host)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Location", r.to+req.URL.Path)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return w.Result(), nil
}

// A redirect never sends the key to another host or port, or over an unencrypted connection.
// net/http alone removes only well-known headers such as Authorization, and only for another host.
func TestRedirectsDoNotTakeTheKey(t *testing.T) {
	for to, follows := range map[string]bool{
		"https://api.example.com": true, "http://api.example.com": false,
		"https://evil.example": false, "https://api.example.com:444": false,
	} {
		r := &redirecting{to: to}
		m := openai.New(openai.Options{Options: modelhttp.Options{
			BaseURL: "https://api.example.com/v1", Model: "m", Transport: r,
			KeyHeader: "x-secret-key", Key: modeltest.KeyOf("k")}})
		_, err := m.Generate(t.Context(), modeltest.User("hi"), nil)
		_, errModels := m.Models(t.Context())
		if err == nil || errModels == nil {
			t.Errorf("%s: %v, %v", to, err, errModels)
		}
		for _, at := range r.keys {
			if at != "https://api.example.com" {
				t.Errorf("the redirect to %s sent the key to %s", to, at)
			}
		}
		if (len(r.keys) > 2) != follows {
			t.Errorf("%s: %d requests, followed should be %v", to, len(r.keys), follows)
		}
		m.Close()
	}
}
