package mcp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHeadersStayWithTheServer checks that the headers in a server's settings, which often contain
// a token, are not sent to a host to which the server redirects.
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
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if len(here) != 2 || here[0] != "tokenkey" || here[1] != "tokenkey" {
		t.Errorf("the server got %q", here)
	}
	if len(there) != 1 || there[0] != "" {
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
