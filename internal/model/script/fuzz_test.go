package script

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzLoad checks that every script is either rejected or can be played, over the chat API and the
// responses API, streamed or not.
func FuzzLoad(f *testing.F) {
	f.Add(`{"text":"a","toolCalls":[{"name":"x","arguments":{}}]}`)
	f.Add(`{"window":1}`)
	f.Add(`{"reasoning":"h","text":"wörld","chunks":3,"delayMs":1,"usage":{"input":3}}`)
	f.Add(`{"text":"half","stall":true}`)
	f.Add(`{"text":"half","drop":"rune"}`)
	f.Add(`{"raw":{"status":502,"type":"text/html","body":"x"}}`)
	f.Add(`{"error":{"status":429,"retryAfter":3}}`)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	f.Fuzz(func(t *testing.T, in string) {
		for _, path := range []string{"chat/completions", "responses"} {
			for _, body := range []string{`{"stream":true}`, `{}`} {
				s, err := Load(strings.NewReader(in))
				if err != nil {
					return
				}
				s.Lenient = true
				playOne(gone, &Server{script: s}, path, body)
			}
		}
	})
}

// playOne requests one reply. If the script drops the connection, the handler panics with
// http.ErrAbortHandler. playOne ignores this panic.
func playOne(ctx context.Context, v *Server, path, body string) {
	defer func() {
		if r := recover(); r != nil && r != http.ErrAbortHandler {
			panic(r)
		}
	}()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/"+path,
		strings.NewReader(body))
	v.handler().ServeHTTP(httptest.NewRecorder(), req)
}
