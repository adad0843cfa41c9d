// Package retry tells the kinds of a model call's errors apart and says when to try
// again and after how long. It makes no call and keeps no clock: its callers do.
// Start at Error and Policy.
package retry

import (
	"errors"
	"time"
)

// Kind is the class of a failed model call, as the wire names it (protocol section 2, error.kind).
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
	Message    string
	Hint       string // what the user can do
	Err        error
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

func (e *Error) Unwrap() error { return e.Err }

// As returns the typed error within err, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
