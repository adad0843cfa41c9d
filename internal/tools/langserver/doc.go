// Package langserver gives the model access to language servers. One tool queries them, one renames
// symbols and one applies code actions. The result of an edit contains the diagnostics that the
// servers report about the edit.
//
// The editor answers if it supports such questions (Options.Query). Otherwise, a language server
// answers. The Hub starts the server for a root when it is first needed. The package never writes a
// file. A rename is a proposal like any edit, and edits that a server requests on its own are
// refused. Start at Hub.
package langserver
