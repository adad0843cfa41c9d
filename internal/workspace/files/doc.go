// Package files reads and writes files below the workspace folders, and the program's own state.
// Every access to a workspace file goes through os.Root, so that the kernel refuses a path that
// leads out. A write is atomic: Stage, then Commit, which replaces only the content that the
// caller saw. Blobs keeps contents by their hash.
//
// The package knows neither documents nor proposals. All functions block as long as the disk does;
// call them without a lock that the reading side needs. The only lock is the one of Blobs in
// memory.
package files
