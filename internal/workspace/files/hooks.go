package files

import "os"

// The variables below are set by tests only, before the code under test runs.
var (
	// SyncFile makes a file's bytes safe. Tests that do not crash leave it out.
	SyncFile = (*os.File).Sync
	// AtStep is called between the steps of a write and of a decision. Tests kill the process in
	// it.
	AtStep = func(string) {}
)
