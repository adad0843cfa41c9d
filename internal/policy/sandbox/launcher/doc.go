// Package launcher is agent-lsp's own Linux sandbox. It re-executes this binary as the first
// process of new user, mount, process, network and IPC namespaces, makes a view of the file system
// in which everything is read-only, and starts the command there without capabilities.
//
// A command that may write to the workspace still sees it read-only. Its system calls that create,
// change or remove a name are handed to the broker, a part of the launcher's process that alone has
// a writable mount. The broker resolves the name once, refuses the protected ones and makes the
// change itself, so a file that must not appear is never created. Everything that the broker does
// not know fails with "Read-only file system", because the kernel enforces the mount.
//
// The package decides nothing about which command needs which sandbox. Start at Spec and Attr; the
// other side begins at MaybeRun.
package launcher
