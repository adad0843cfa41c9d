// Package checkpoint records what each turn changed in each file, so that it can be undone.
//
// A checkpoint contains steps: pairs of contents before and after. Nothing scans the tree and no
// version control is involved, so a checkpoint costs as much as the bytes that were changed.
// Undoing goes from the newest step to the oldest and merges each with the file's current text.
// What the user did before, between and after the steps belongs to no step and therefore stays.
//
// The contents before a change, and those that the change is going to leave, are safe on disk
// before the first byte of a file changes.
//
// Log has the only lock of the package. It is held while a checkpoint is written, so that the
// steps of a session stay in order. A caller therefore must not hold a lock of documents or
// proposals when it calls a method of Log.
package checkpoint
