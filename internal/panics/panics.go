// Package panics converts panics into errors, for code that must not end the process, such as a
// tool or a hook.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Catch runs f and returns its error. If f panics, Catch returns the panic as an *Error. It does
// not catch panics in goroutines that f starts.
func Catch(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{Value: r, Stack: debug.Stack()}
		}
	}()
	return f()
}

// Error is a panic that Catch caught.
type Error struct {
	Value any
	Stack []byte // stack trace of the goroutine that panicked
}

func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
