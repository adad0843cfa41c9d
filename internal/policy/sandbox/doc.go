// Package sandbox detects which sandbox this system supports for commands, and sets it up:
// agent-lsp's own sandbox (package launcher), bubblewrap, a network namespace with Landlock,
// Landlock alone, or macOS sandbox-exec. The supervisor of package shell gets a Plan and applies it
// when it starts a command.
//
// Package policy decides whether a command needs a sandbox. Start at Detect and Support.Plan.
package sandbox
