// Package lazyregexp compiles a regular expression when it is first used and not when the program
// starts. Otherwise, the daemon and each of its helper processes would compile all expressions
// before doing any work.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp returns the compiled expression, which it compiles on the first call. It is safe for
// concurrent use.
type Regexp func() *regexp.Regexp

// New returns a function that compiles expr on the first call. Like [regexp.MustCompile], this call
// panics if expr is invalid.
func New(expr string) Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
