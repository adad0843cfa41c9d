package host

import "context"

type answerKey struct{}

// WithAnswer returns a context for a request that gets a response. HoldFor then holds back
// notifications of the sessions that the request affects until the response is queued, so that the
// client receives the response first. whenAnswered may be called several times. It registers a
// function that is called when the response is queued. If whenAnswered is nil, HoldFor does
// nothing.
func WithAnswer(ctx context.Context, whenAnswered func(func())) context.Context {
	return context.WithValue(ctx, answerKey{}, whenAnswered)
}

type letGoKey struct{}

// WithLetGo returns a context for a request. LetGo calls letGo, which releases the request's held
// notifications before the response is sent.
func WithLetGo(ctx context.Context, letGo func()) context.Context {
	return context.WithValue(ctx, letGoKey{}, letGo)
}

// LetGo releases the notifications that wait for the response to ctx's request. Handlers call it if
// the response is sent only after all effects of the request. LetGo does nothing outside of a
// request.
func LetGo(ctx context.Context) {
	if letGo, ok := ctx.Value(letGoKey{}).(func()); ok && letGo != nil {
		letGo()
	}
}

// HoldFor holds back a session's notifications until ctx's request has been answered. It does
// nothing outside of a request or if the session is not loaded.
func (h *Host) HoldFor(ctx context.Context, sessionID string) {
	whenAnswered, _ := ctx.Value(answerKey{}).(func(func()))
	f := h.feed(sessionID)
	if whenAnswered == nil || f == nil {
		return
	}
	f.hold()
	whenAnswered(f.release)
}
