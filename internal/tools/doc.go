// Package tools holds the built-in tools of the agent: one file per tool, its description
// for the model in the .md file beside it, its schema made from its argument struct.
//
// A tool reads and changes files only through the workspace, whose roots it never leaves,
// and runs commands only through the shell package. It never asks for permission: the
// engine's approver does, before Run. It knows nothing of the client or the wire. Every
// result that is cut says so and what to do next. Start at New and Set.For.
//
//house:large one file for each built-in tool; what needs more than a file is in packages below
package tools
