// Package langserver gives the model access to language servers: one tool queries them, one renames
// symbols through them, and the result of an edit contains what they report about it.
//
// The editor answers if it offers that (Options.Query). Otherwise a language server does, which the
// Hub starts for a root when it is first needed. The package never writes a file: a rename is a
// proposal like any edit, and edits that a server asks for on its own are refused. Start at Hub.
package langserver
