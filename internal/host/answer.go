package host

import "context"

type answerKey struct{}

// WithAnswer returns a context for a request that has an answer: notifications of sessions that
// the request concerns wait until the answer is on its way, so that the client gets it first.
// whenAnswered calls its argument then; it may be called several times. nil: what is done with
// the context belongs to no request.
func WithAnswer(ctx context.Context, whenAnswered func(func())) context.Context {
	return context.WithValue(ctx, answerKey{}, whenAnswered)
}

type letGoKey struct{}

// WithLetGo returns a context for a request whose held notifications letGo lets pass before its
// answer.
func WithLetGo(ctx context.Context, letGo func()) context.Context {
	return context.WithValue(ctx, letGoKey{}, letGo)
}

// LetGo lets pass what waits for the answer of the request of ctx, because the answer comes only at
// the end of what it causes. Outside of a request it does nothing.
func LetGo(ctx context.Context) {
	if letGo, ok := ctx.Value(letGoKey{}).(func()); ok && letGo != nil {
		letGo()
	}
}

// HoldFor keeps a session's notifications back until the request of ctx is answered. Outside of a
// request, or where the session is not loaded, it does nothing.
func (h *Host) HoldFor(ctx context.Context, sessionID string) {
	whenAnswered, _ := ctx.Value(answerKey{}).(func(func()))
	f := h.feed(sessionID)
	if whenAnswered == nil || f == nil {
		return
	}
	f.hold()
	whenAnswered(f.release)
}
