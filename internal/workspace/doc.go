// Package workspace is what the agent sees and changes: the documents that the editor
// has open, the files below the workspace folders, and the proposals that turn one into
// the other.
//
// The editor's buffer is the truth for an open file, the disk for a closed one. An open
// document changes only through the Client, a closed file only by an atomic write below
// a root; both only by a Proposal, and both leave a checkpoint that undoes them. No path
// leads out of the roots. The package knows nothing of the model, of tools or of the wire.
//
// Start at Workspace; Resolve and Read for reading, Propose, Await and Decide for
// changing, Restore for going back. Positions are explained in lineindex.go, the way a
// hunk follows the user's typing in track.go, the steps of an apply in apply.go.
package workspace
