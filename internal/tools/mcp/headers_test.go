package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHeadersStayWithTheServer checks that no request is sent to a host to which a server
// redirects. The headers in a server's settings often contain a token.
func TestHeadersStayWithTheServer(t *testing.T) {
	var there []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		there = append(there, r.Header.Get("Authorization")+r.Header.Get("X-Key"))
	}))
	defer elsewhere.Close()
	var here []string
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here = append(here, r.Header.Get("Authorization")+r.Header.Get("X-Key"))
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
			return
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer own.Close()
	s := &server{
		hub: New(Options{}),
		conf: Config{
			URL:     own.URL,
			Headers: map[string]string{"Authorization": "token", "X-Key": "key"},
		},
	}
	transport, _, err := s.transport(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	client := transport.(*sdk.StreamableClientTransport).HTTPClient
	resp, err := client.Get(own.URL)
	if err == nil {
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "redirects to another host") {
		t.Errorf("error %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	if len(here) != 2 || here[0] != "tokenkey" || here[1] != "tokenkey" {
		t.Errorf("the server got %q", here)
	}
	if len(there) != 0 {
		t.Errorf("another host got %q", there)
	}
}

// If a server is not started again, the advice depends on how the server is reached.
func TestAdvice(t *testing.T) {
	for want, c := range map[string]Config{"responds at its url": {URL: "http://127.0.0.1:1"},
		"run its command": {Command: "server"}} {
		if reported := c.advice(); !strings.Contains(reported, want) {
			t.Errorf("%+v: %q lacks %q", c, reported, want)
		}
	}
}

// TestNotAuthorized checks that a server that answers with status 401 is not asked again, and that
// the notice names the setting.
func TestNotAuthorized(t *testing.T) {
	var asked atomic.Int32
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer own.Close()
	s := &server{hub: New(Options{}), conf: Config{Name: "team", URL: own.URL}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := s.serve(ctx, func() {})
	http.DefaultClient.CloseIdleConnections()
	var never *hopeless
	if !errors.As(err, &never) || !strings.Contains(err.Error(), "mcpServers.team.headers") {
		t.Errorf("the error is %v", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// A server's response is read only up to the size limit of a message, even if it is not an event
// stream.
func TestResponsesAreBounded(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		sent := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			for part := make([]byte, 1<<20); sent < 8*maxLine; sent += len(part) {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}))
		s := &server{hub: New(Options{}), conf: Config{URL: srv.URL}}
		transport, _, err := s.transport(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.(*sdk.StreamableClientTransport).HTTPClient.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		srv.Close()
		if !errors.Is(err, errTooLarge) || n > maxLine {
			t.Errorf("%s: read %d bytes, error %v", kind, n, err)
		}
	}
}

// The size limit applies to each message, and not to a long event stream of short messages.
func TestStreamsOfShortMessagesAreNotBounded(t *testing.T) {
	event := "data: " + strings.Repeat("x", 1<<10) + "\n\n"
	b := newBounded(&http.Response{
		Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		Body:   io.NopCloser(io.LimitReader(repeated(event), 2*maxLine)),
	})
	if n, err := io.Copy(io.Discard, b); err != nil || n != 2*maxLine {
		t.Errorf("read %d bytes, error %v", n, err)
	}
}

// A message that consists of many small values is refused, because decoding it needs much more
// memory than its text. Commas in strings do not count as separators. A quote in a line that is not
// JSON does not hide the values after it.
func TestMessagesOfManyValuesAreBounded(t *testing.T) {
	for _, c := range []struct {
		begin, part string
		want        error
	}{
		{"", `[],`, errTooMany},
		{"", `{"a":1},`, errTooMany},
		{"", "1,\n", errTooMany},
		{": \"\ndata: ", `[],`, errTooMany},
		{`"`, `,[{`, nil},
		{`"`, `\",`, nil},
	} {
		text := c.begin + strings.Repeat(c.part, maxValues+1)
		for kind, r := range map[string]io.Reader{
			"stdio": newLines(io.NopCloser(strings.NewReader(text))),
			"events": newBounded(&http.Response{
				Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body:   io.NopCloser(strings.NewReader(text)),
			}),
		} {
			if kind == "stdio" && strings.Contains(c.begin+c.part, "\n") {
				continue // Each line is a message.
			}
			if _, err := io.Copy(io.Discard, r); !errors.Is(err, c.want) {
				t.Errorf("%s: %.20q: the error is %v", kind, c.begin+c.part, err)
			}
		}
	}
}

// repeated is a reader that returns the same text endlessly.
type repeated string

func (r repeated) Read(p []byte) (int, error) { return copy(p, r), nil }
