// Package policy decides what the agent may do: permission profiles, rules, grants, the
// reading of shell commands, and what counts as a secret.
//
// It asks through an Asker and keeps grants through a Store, both handed in; it never runs a
// command, reads a file of the workspace or talks to a client. Whatever it cannot read, match
// or get an answer to is not allowed.
//
// Start at Engine.Approve; Classify is how a command is read, ParseRule what a rule means.
//
//house:large every kind of subject has rules here, and a single function asks for all
package policy
