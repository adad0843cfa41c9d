// Package launcher is agent-lsp's own Linux sandbox. It re-executes this binary as the first
// process of new user, mount, process, network, IPC and UTS namespaces, creates a read-only view of
// the file system, and starts the command there without capabilities.
//
// A command that may write to the workspace still sees it read-only. Its system calls that create,
// change or remove a name are passed to the broker, a part of the launcher's process. Only the
// broker has a writable mount. It resolves the name once, refuses protected names and makes the
// change itself, so a file that must not exist is never created. Other calls that would change the
// workspace fail with "Read-only file system", because the kernel enforces the mount.
//
// The package does not decide which command needs which sandbox. Start at Spec and Attr. MaybeRun
// is the entry point of the launcher's process.
package launcher
