// Package workspace turns the agent's edits into proposals. It proposes an edit, asks the user to
// decide about each hunk, applies the accepted hunks, and verifies the result in the editor. It
// stores the documents that the editor has open. Its subpackages contain the other parts: text
// handles positions, path handles folders, files writes files atomically, readset records reads,
// and checkpoint undoes changes.
//
// For an open file, the editor's buffer is authoritative. For a closed file, the content on disk
// is. An open document changes only through the Client, and a closed file only by an atomic write
// below a root. Every change by the agent is part of a Proposal and is recorded in a checkpoint
// that can undo it. No path leads out of the roots. The package does not depend on the model, the
// tools or the wire protocol.
//
// Start at Workspace. Resolve and Read read files. Propose, Await and Decide change them, and
// Restore undoes changes. The states of hunks and proposals, and the transitions between them, are
// in states.go. The code that makes a hunk follow the user's typing is in track.go. The steps in
// which a decision is applied are in apply.go.
//
// While a goroutine holds a lock, it may acquire only locks from later lines. It never holds two
// locks from the same line. No lock is held during a wait for the client or the disk, with two
// exceptions: proposal.stored orders the writes of one proposal's file, and checkpoint.Log.mu
// orders those of checkpoints. TestLocksAreTakenInOrder compares the code with this list. A lock
// that is not on the list is never held together with another one. Lock order:
//
//	proposal.stored, checkpoint.Log.mu
//	Workspace.mu
//	readset.Set.mu, eventQueue.mu, broadcast.mu, Workspace.spawns, files.Blobs.mu
//
// Two kinds of locks are acquired before all of these, and the test does not see them. The first is
// the semaphore of a proposal, which is held by code that changes the proposal (a decision, a new
// edit, the end of a wait). The second is the locks of files in Workspace.locks, which are acquired
// in the order of their keys. holdAll tries the semaphore under Workspace.mu and does not wait for
// it.
//
//house:large documents and proposals change under one lock, because hunks follow every keystroke
package workspace
