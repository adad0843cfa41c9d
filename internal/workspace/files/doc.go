// Package files reads and writes files below the workspace folders, and the program's own state. It
// accesses workspace files through os.Root, which refuses any path that leads out of a folder. A
// write is atomic. Stage prepares it, and Commit replaces only the content that the caller saw.
// Blobs stores contents under their hash.
//
// The package does not know about documents or proposals. All functions block as long as the disk
// does, so callers must not hold a lock that readers need. The only lock is that of the in-memory
// Blobs.
package files
