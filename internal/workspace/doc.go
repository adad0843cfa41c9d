// Package workspace turns the agent's edits into proposals: it proposes, lets the user decide hunk
// by hunk, applies what was accepted, and waits for what the editor makes of it. It holds the
// documents that the editor has open. The packages below it hold the rest: positions in text,
// folders in path, atomic files in files, read records in readset, undo in checkpoint.
//
// The editor's buffer is the truth for an open file, the disk for a closed one. An open
// document changes only through the Client, a closed file only by an atomic write below
// a root; both only by a Proposal, and both leave a checkpoint that undoes them. No path
// leads out of the roots. The package knows nothing of the model, of tools or of the wire.
//
// Start at Workspace; Resolve and Read for reading, Propose, Await and Decide for
// changing, Restore for going back. The states of hunks and proposals, and every move between them,
// are in states.go, the way a hunk follows the user's typing in track.go, the steps of an apply in
// apply.go.
//
// A lock is taken only while locks of earlier lines are held. The locks of one line are never held
// together. No lock is held while the client or the disk is waited for, with two exceptions:
// proposal.stored orders the writes of one proposal's file, checkpoint.Log.mu those of checkpoints.
// TestLocksAreTakenInOrder compares the code with this list; a lock that is not in it is never held
// with another one. Lock order:
//
//	proposal.stored, checkpoint.Log.mu
//	Workspace.mu
//	readset.Set.mu, eventQueue.mu, broadcast.mu, Workspace.spawns, files.Blobs.mu
//
// Before all of them come the semaphore of a proposal, which is held by what changes the proposal
// (a decision, a new edit, the end of a wait), and the locks of files in Workspace.locks, in the
// order of their keys. The test does not see these two. holdAll tries the semaphore under
// Workspace.mu and does not wait for it.
//
//house:large documents and proposals change under one lock, because hunks follow every keystroke
package workspace
