// Package testspeed keeps the inner loop short: tests that mostly wait run in parallel even on few
// processors, and their temporary folders are in memory. It is for the TestMain of a package.
package testspeed

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Full reports whether tests take their inputs at full size, in every way, and wait for slow
// programs of others: when AGENT_LSP_FULL=1 is set, as by `make test`, and when they are asked for
// by name (-run). Else, in the inner loop, a flood of a gigabyte is a tenth of one.
func Full() bool {
	on, _ := strconv.ParseBool(os.Getenv("AGENT_LSP_FULL"))
	return on || flag.Lookup("test.run").Value.String() != ""
}

// Heavy says whether case i of a heavy table runs: each of them where the test is asked for by
// name, as `make test-heavy` does, else every fourth. Under the race detector such a table takes
// minutes.
func Heavy(i int) bool {
	return i%4 == 0 || flag.Lookup("test.run").Value.String() != ""
}

// Size is full when tests run at full size, else a tenth of it.
func Size(full int) int {
	if Full() {
		return full
	}
	return full / 10
}

// Parallel allows at least this number of the package's parallel tests to run at the same time.
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
