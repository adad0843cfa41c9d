// Package wire defines agent-lsp's extension of the Language Server Protocol: the structs of the
// agent/* messages, their method names and the error codes. It has no behavior and, except for
// positions and ranges, no types that LSP defines.
//
// Decoding is lenient. Unknown fields are ignored, and absent fields are zero. Fields that a client
// may rely on are always encoded. Optional fields are omitted if they are zero.
// docs/reference/protocol describes the meaning of each message. Start at methods.go.
package wire
