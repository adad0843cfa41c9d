package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// sentTo contains the parts of a model request that the tests check.
type sentTo struct {
	Model    string
	Effort   string `json:"reasoning_effort"`
	Messages []struct{ Role, Content string }
}

func (r *reach) asked(session, prompt string) (a sentTo) {
	r.t.Helper()
	r.call("agent/prompt", map[string]any{"sessionId": session, "prompt": prompt}, nil)
	if err := json.Unmarshal(<-r.requests, &a); err != nil {
		r.t.Fatal(err)
	}
	r.call("agent/turn/wait", map[string]any{"sessionId": session}, nil)
	return a
}

func (r *reach) session(config map[string]any) string {
	r.t.Helper()
	var s struct{ SessionID string }
	r.call("agent/session/new", map[string]any{"config": config}, &s)
	return s.SessionID
}

// A mode's model, thinking level and instructions are sent to the provider while the mode is
// active. The session script policy/mode-sets covers the mode's edit and permission settings.
func TestModeReachesTheProvider(t *testing.T) {
	r := newReach(t, map[string]any{"model": "usual", "thinking": "low", "modes": map[string]any{
		"deep": map[string]any{"model": "o3", "thinking": "high", "instructions": "Think twice."}}})
	id := r.session(map[string]any{"mode": "deep"})
	if a := r.asked(id, "one"); a.Model != "o3" || a.Effort != "high" ||
		!strings.Contains(a.Messages[0].Content, "Think twice.") {
		t.Errorf("in the mode: %.500v", a)
	}
	r.call("agent/session/configure",
		map[string]any{"sessionId": id, "config": map[string]any{"mode": "default"}}, nil)
	if a := r.asked(id, "two"); a.Model != "usual" ||
		strings.Contains(a.Messages[0].Content, "Think twice.") {
		t.Errorf("outside of it: %.500v", a)
	}
}

// embeddings starts an endpoint that returns one vector for texts about animals and another one for
// all other texts. It returns the endpoint's URL and a channel that receives each request's
// Authorization header.
func embeddings(t *testing.T) (url string, keys chan string) {
	t.Helper()
	keys = make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		keys <- r.Header.Get("Authorization")
		vector := "[1,0]"
		if strings.Contains(string(body), "horse") || strings.Contains(string(body), "mammal") {
			vector = "[0,1]"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"object":"embedding","index":0,`+
			`"embedding":`+vector+`}],"model":"e","usage":{"prompt_tokens":1,"total_tokens":1}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, keys
}

// If the settings name an embeddings model, memories are found by meaning. If the settings also
// specify a number, up to that many matching memories are sent with each prompt. The endpoint
// receives its own key or none, but never the provider's key.
func TestMemoryByMeaningGoesWithAPrompt(t *testing.T) {
	for variable, key := range map[string]string{"": "", "EMBED_TOKEN": "Bearer embedding-secret"} {
		url, keys := embeddings(t)
		r := newReach(t, map[string]any{"memory": map[string]any{"inject": 1,
			"embeddings": map[string]any{"model": "e", "baseUrl": url, "apiKeyEnv": variable}}},
			"EMBED_TOKEN=embedding-secret")
		r.call("agent/memory/save", map[string]any{"key": "stable",
			"content": "Our horse is called Rosa."}, nil)
		r.call("agent/memory/save", map[string]any{"key": "logo", "content": "The logo is green."},
			nil)
		id := r.session(nil)
		a := r.asked(id, "Which mammal lives here?")
		if last := a.Messages[len(a.Messages)-1].Content; !strings.Contains(last, "Rosa") ||
			strings.Contains(last, "green") {
			t.Errorf("the model was informed %q", last)
		}
		before := strings.Count(strings.Join(contents(a), "\n"), "Rosa")
		if a = r.asked(id, "And which mammal sleeps?"); strings.Count(strings.Join(contents(a),
			"\n"), "Rosa") != before {
			t.Error("it was informed twice")
		}
		if got := <-keys; got != key {
			t.Errorf("the endpoint got the key %q", got)
		}
	}
}

func contents(a sentTo) (list []string) {
	for _, m := range a.Messages {
		list = append(list, m.Content)
	}
	return list
}
