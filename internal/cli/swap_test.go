package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// If a session switches to a model from another provider, it uses that model from the next call on
// and sends it the complete history. Switching back works in the same way. A key is sent only to
// its own provider. Providers are defined only in the user's settings, so a session cannot specify
// another address.
func TestProviderIsSwappedAtRunTime(t *testing.T) {
	type seen struct {
		key  string
		body sentTo
	}
	other := make(chan seen, 10)
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var s seen
		_ = json.NewDecoder(req.Body).Decode(&s.body)
		s.key = req.Header.Get("Authorization")
		other <- s
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(
			[]byte(
				`data: {"choices":[{"index":0,"delta":{"content":"from the second"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
			),
		)
	}))
	t.Cleanup(second.Close)
	provider := map[string]any{"baseUrl": second.URL + "/v1", "apiKeyEnv": "SECOND_KEY"}
	r := newReach(t, map[string]any{"providers": map[string]any{"second": provider}},
		"SECOND_KEY=k-second")
	id := r.session(nil)
	if a := r.asked(id, "one"); a.Model != "m" {
		t.Errorf("at first: %.300v", a)
	}
	configure := func(config map[string]any) {
		r.call("agent/session/configure", map[string]any{"sessionId": id, "config": config}, nil)
	}
	configure(map[string]any{"provider": provider})
	if r.asked(id, "own address"); len(other) != 0 {
		t.Fatal("a session's own provider was asked")
	}
	configure(map[string]any{"model": "second/m2", "provider": nil})
	var turn struct{ Status string }
	r.call("agent/prompt", map[string]any{"sessionId": id, "prompt": "two"}, nil)
	r.call("agent/turn/wait", map[string]any{"sessionId": id}, &turn)
	if turn.Status != "completed" || len(other) != 1 {
		t.Fatalf("with the second: %s after %d calls there and %d to the first", turn.Status,
			len(other), len(r.requests))
	}
	s := <-other
	var said []string
	for _, m := range s.body.Messages[1:] {
		said = append(said, m.Content)
	}
	if s.key != "Bearer k-second" || s.body.Model != "m2" || len(said) != 5 || said[0] != "one" ||
		said[1] != "ok" || said[2] != "own address" || said[4] != "two" {
		t.Errorf("the second provider got key %s, model %s, messages %q", s.key, s.body.Model, said)
	}
	configure(map[string]any{"model": "m"})
	if a := r.asked(id, "three"); a.Model != "m" ||
		!strings.Contains(a.Messages[6].Content, "from the second") {
		t.Errorf("back again: %.600v", a)
	}
}
