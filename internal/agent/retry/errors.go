// Package retry tells the kinds of a model call's errors apart and says when to try
// again and after how long. It makes no call and keeps no clock: its callers do.
// Start at Error and Policy.
package retry

import (
	"errors"
	"time"
)

// Kind is the class of a failed model call, as the wire names it (protocol 9.3).
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

// Error is a typed failure of a model call. Message says what was wrong and what to do,
// for the user; it never holds a secret.
type Error struct {
	Kind       Kind
	Status     int           // HTTP status, 0 where there was none
	RetryAfter time.Duration // what the provider asked for, 0 where it did not
	// of a ContextOverflow: the model's window in tokens, if the provider names it
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

// ErrReplyTooLong is the cause of an Error of a reply that passed a limit on its size. What arrived
// of the reply before is worth keeping, and the same request would pass the limit again.
var ErrReplyTooLong = errors.New("longer than allowed")

// ErrSkipped is the cause of an Error of a call that was not made because its provider keeps
// failing or cannot be used. The call is not retried; a fallback may answer.
var ErrSkipped = errors.New("the provider is skipped")

// As returns the typed error within err, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
