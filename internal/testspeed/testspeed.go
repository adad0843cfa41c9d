// Package testspeed keeps the inner loop short: tests that mostly wait run beside each other, however few the processors,
// and their temporary folders lie in memory. It is for the TestMain of a package.
package testspeed

import (
	"flag"
	"strconv"
	"testing"
)

// Parallel lets at least so many of the package's parallel tests run at once.
func Parallel(atLeast int) {
	flag.Parse()
	at, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err == nil && at < atLeast {
		_ = flag.Set("test.parallel", strconv.Itoa(atLeast))
	}
}

// Run runs the package's tests with their temporary folders in memory.
func Run(m *testing.M) (code int) {
	defer InMemory()()
	return m.Run()
}
