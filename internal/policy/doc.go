// Package policy decides what the agent may do. It contains permission profiles, rules, grants, the
// classification of shell commands, and the lists of secret files.
//
// The package asks the user through an Asker and stores grants through a Store. The caller provides
// both. The package never runs a command or talks to a client. A request that neither a rule nor
// the profile allows needs the user's answer.
//
// Start at Engine.Approve. Classify parses a command, and ParseRule parses a rule.
//
//house:large every kind of subject has rules here, and one function asks about all of them
package policy
