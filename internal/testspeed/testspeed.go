// Package testspeed makes test runs short. Tests that mostly wait run in parallel even on few
// processors, and on Linux, temporary folders are in memory if possible. Packages use it in
// TestMain.
package testspeed

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Full reports whether tests run at full size, with every variant and with slow third-party
// programs. This is the case if AGENT_LSP_FULL=1 is set, as by `make test`, and for tests that are
// selected by name (-run). Otherwise, inputs are smaller, usually a tenth of the size.
func Full() bool {
	on, _ := strconv.ParseBool(os.Getenv("AGENT_LSP_FULL"))
	return on || flag.Lookup("test.run").Value.String() != ""
}

// Heavy reports whether case i of a heavy table runs. If the test is selected by name, as `make
// test-heavy` does, all cases run. Otherwise, every fourth case runs. With the race detector, such
// a table takes minutes.
func Heavy(i int) bool {
	return i%4 == 0 || flag.Lookup("test.run").Value.String() != ""
}

// Size returns its argument if tests run at full size, and otherwise a tenth of it.
func Size(full int) int {
	if Full() {
		return full
	}
	return full / 10
}

// HeavySize returns its argument if the test is selected by name, as `make test-heavy` does, and
// otherwise a tenth of it.
func HeavySize(full int) int {
	if Heavy(1) {
		return full
	}
	return full / 10
}

// Parallel allows at least this number of the package's parallel tests to run at the same time. A
// fuzzing run keeps one worker per processor, because it treats an input that takes ten seconds as
// a hang, and more workers would reach this limit on a busy machine.
func Parallel(atLeast int) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		return
	}
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
