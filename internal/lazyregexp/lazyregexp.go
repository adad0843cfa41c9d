// Package lazyregexp compiles a regular expression when it is first used, not when the program
// starts: the daemon and each helper process of it would pay for all of them before their first
// line of work.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp returns the compiled expression, compiling it at the first call. It is safe for concurrent
// use.
type Regexp func() *regexp.Regexp

// New returns expr to be compiled later. A faulty expression panics at the first use, as
// [regexp.MustCompile] does.
func New(expr string) Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
