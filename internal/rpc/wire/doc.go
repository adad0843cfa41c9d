// Package wire defines agent-lsp's extension of the Language Server Protocol: the structs of the
// agent/* messages, their method names and the error codes. Apart from the JSON encoding of Prompt,
// it has no behavior. It declares only the few types of LSP that these messages contain, such as
// Range.
//
// Decoding is lenient. Unknown fields are ignored, and absent fields are zero. Fields that a client
// may rely on are always encoded. Optional fields are omitted if they are zero.
// docs/reference/protocol describes the meaning of each message. Start at methods.go.
package wire
