// Package sandbox says what this machine can wall a command in with, and makes
// the wall: bubblewrap, a network namespace with Landlock, Landlock alone, or
// macOS sandbox-exec. It starts no command itself: a Plan is handed to the
// process code, whose re-executed helper enters it just before the command starts.
//
// It never decides whether a command needs a wall (package policy does) and never
// hides files from reading. Start at Detect and Support.Plan.
package sandbox
