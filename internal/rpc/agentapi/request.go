package agentapi

import (
	"context"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/host"
)

// Request is a client request that has not been answered yet. The notifications that it causes wait
// for its response. The zero value is ready to use.
type Request struct {
	mu    sync.Mutex
	after []func()
}

// Context returns a context for the handler of the request.
func (r *Request) Context(ctx context.Context) context.Context {
	return host.WithLetGo(host.WithAnswer(ctx, r.WhenAnswered), r.Answered)
}

// WhenAnswered calls f once the response is queued.
func (r *Request) WhenAnswered(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = append(r.after, f)
}

// Answered releases everything that waits for the response. It may be called before the response is
// sent if the response is sent only after all effects of the request.
func (r *Request) Answered() {
	r.mu.Lock()
	after := r.after
	r.after = nil
	r.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// Detached returns a context that does not belong to a request and does not end with ctx.
func Detached(ctx context.Context) context.Context {
	return host.WithLetGo(host.WithAnswer(context.WithoutCancel(ctx), nil), nil)
}
