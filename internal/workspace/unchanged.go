package workspace

import (
	"errors"
	"strings"
)

// UncertainError is an error after which it is unknown whether files have changed.
type UncertainError struct{ Err error }

func (e *UncertainError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *UncertainError) Unwrap() error { return e.Err }

// SayUnchanged adds "Nothing was changed." to the refusal of an edit if the refusal does not say
// so. Otherwise, the model might read the file again, or assume that a part of the edit was made. A
// nil error and an UncertainError are returned unchanged.
func SayUnchanged(err error) error {
	var uncertain *UncertainError
	if err == nil || errors.As(err, &uncertain) ||
		strings.Contains(strings.ToLower(err.Error()), "nothing was changed") {
		return err
	}
	return &unchangedError{err}
}

// unchangedError is a refusal to which SayUnchanged added its sentence. The model reads the message
// as prose, so the message ends with a period.
type unchangedError struct{ error }

func (e *unchangedError) Error() string {
	text, sep := e.error.Error(), ". "
	if strings.Contains(text, "\n") {
		sep = "\n"
	}
	return text + sep + "Nothing was changed."
}

func (e *unchangedError) Unwrap() error { return e.error }
