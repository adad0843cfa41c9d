// Package langserver gives the model the eyes of language servers: one tool that asks them, one
// that renames through them, and what they say about an edit in that edit's own result.
//
// Who answers is the editor, where it offers that (Options.Query), else a language server that
// the Hub starts for a root when it is first needed. The package never writes a file: a rename is
// a proposal like any edit, and a server's own wish to edit is refused. Start at Hub.
package langserver
