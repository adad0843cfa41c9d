package files

import "os"

// Only tests set the variables below, before the code under test runs.
var (
	// SyncFile flushes a file to disk. Tests that do not simulate crashes skip it.
	SyncFile = (*os.File).Sync
	// AtStep is called between the steps of a write and of a decision. Tests use it to kill the
	// process.
	AtStep = func(string) {}
)
