// Package checkpoint records what each turn changed in each file, so that the changes can be
// undone.
//
// A checkpoint contains steps, which are pairs of contents before and after a change. The package
// does not scan the tree and does not use version control, so the cost of a checkpoint is
// proportional to the changed bytes. An undo goes from the newest step to the oldest and merges
// each step with the file's current text. Changes that the user made before, between and after the
// steps belong to no step and are therefore kept.
//
// The contents before a change, and the intended contents after it, are safe on disk before the
// first byte of a file changes.
//
// Log has the only lock of the package. The lock is held while a checkpoint is written, so that the
// steps of a session stay in order. A caller therefore must not hold a lock of documents or
// proposals when it calls a method of Log.
package checkpoint
