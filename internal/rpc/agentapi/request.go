package agentapi

import (
	"context"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/host"
)

// Request is a request of the client that has not been answered. The notifications that it causes
// wait for its answer. The zero value is ready.
type Request struct {
	mu    sync.Mutex
	after []func()
}

// Context returns a context for what answers the request.
func (r *Request) Context(ctx context.Context) context.Context {
	return host.WithLetGo(host.WithAnswer(ctx, r.WhenAnswered), r.Answered)
}

// WhenAnswered calls f once the answer is queued.
func (r *Request) WhenAnswered(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = append(r.after, f)
}

// Answered lets go what waits for the answer. It may be called before the answer, if that comes
// only at the end of what the request causes.
func (r *Request) Answered() {
	r.mu.Lock()
	after := r.after
	r.after = nil
	r.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// Detached returns a context without a request and without the end of ctx.
func Detached(ctx context.Context) context.Context {
	return host.WithLetGo(host.WithAnswer(context.WithoutCancel(ctx), nil), nil)
}
