package modeltest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// SSE is the content type of an event stream.
const SSE = "text/event-stream"

// Handler answers a request.
type Handler = func(w http.ResponseWriter, r *http.Request)

// Say returns a handler that answers with a body of the given type.
func Say(status int, contentType, body string, header ...string) Handler {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Then returns a handler that sends begin and then calls the handler rest.
func Then(begin string, rest Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", SSE)
		_, _ = io.WriteString(w, begin)
		_ = http.NewResponseController(w).Flush()
		rest(w, r)
	}
}

// Stall sends nothing until the client disconnects.
func Stall(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Reset resets the connection.
func Reset(w http.ResponseWriter, _ *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// Repeat returns a handler that sends s repeatedly until the client disconnects.
func Repeat(s string) Handler {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				if _, err := io.WriteString(w, s); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

// Slowly returns a handler that sends a body byte by byte.
func Slowly(body string) Handler {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", SSE)
		for i := range len(body) {
			_, _ = io.WriteString(w, body[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// Endless returns a handler that sends begin and then the results of next(0), next(1) and so on
// until the client disconnects.
func Endless(begin string, next func(i int) string) Handler {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", SSE)
		_, err := io.WriteString(w, begin)
		for i := 0; err == nil; i++ {
			_, err = io.WriteString(w, next(i))
		}
	}
}

// Provider is an endpoint whose handler can be replaced.
type Provider struct {
	*httptest.Server
	now atomic.Pointer[Handler]
}

// NewProvider starts a provider that runs until the test ends.
func NewProvider(t testing.TB) *Provider {
	p := &Provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices a disconnect
		(*p.now.Load())(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Set changes the handler for later requests.
func (p *Provider) Set(h Handler) { p.now.Store(&h) }
