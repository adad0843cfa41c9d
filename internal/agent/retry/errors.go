// Package retry classifies the errors of model calls and decides whether and when to retry. The
// package itself makes no calls and does not wait. Start at Error and Policy.
package retry

import (
	"errors"
	"time"
)

// Kind is the class of a failed model call, as on the wire (protocol 9.3, in
// docs/reference/protocol/types.md).
type Kind string

// The kinds.
const (
	Auth            Kind = "auth"
	RateLimit       Kind = "rate_limit"
	Quota           Kind = "quota"
	Overloaded      Kind = "overloaded"
	ContextOverflow Kind = "context_overflow"
	ContentFilter   Kind = "content_filter"
	Client          Kind = "client"
	Transient       Kind = "transient"
	Blank           Kind = "blank"
	StreamIdle      Kind = "stream_idle"
	Truncated       Kind = "truncated"
	Script          Kind = "script"
)

// Error is a typed failure of a model call. Message explains what was wrong and never contains a
// secret.
type Error struct {
	Kind       Kind
	Status     int           // HTTP status, 0 if there was no response
	RetryAfter time.Duration // the delay that the provider requested, or 0
	// Window is the model's window in tokens, for ContextOverflow, if the provider reports it.
	Window  int
	Message string
	Hint    string // what the user can do
	Err     error
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

func (e *Error) Unwrap() error { return e.Err }

// ErrReplyTooLong is the cause of an Error for a reply that exceeded a size limit. The part that
// arrived is kept. Repeating the request would exceed the limit again.
var ErrReplyTooLong = errors.New("longer than allowed")

// ErrSkipped is the cause of an Error for a call that was not made because its provider keeps
// failing or cannot be used. The call is not retried; a fallback may answer.
var ErrSkipped = errors.New("the provider is skipped")

// As returns the typed error in err's chain, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
