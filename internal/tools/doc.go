// Package tools contains the built-in tools of the agent. Each tool has its own file. The
// description for the model is in the .md file next to it, and the schema is generated from the
// argument struct.
//
// A tool reads and changes files only through the workspace, which denies access outside its roots,
// and runs commands only through the shell package. It never asks for permission, because the
// engine's approver does so before Run. It does not depend on the client or the wire protocol. If a
// result is truncated, a note says so and describes what to do next. Start at New and Set.For.
//
//house:large one file for each built-in tool; larger tools have their own packages below
package tools
