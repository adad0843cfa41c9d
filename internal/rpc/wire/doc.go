// Package wire holds what agent-lsp says beside the Language Server Protocol: the
// structs of the agent/* messages, their method names and the error codes. It has no
// behaviour, and nothing that LSP itself has a type for beyond positions and ranges.
//
// Decoding is lenient: unknown fields are ignored, absent ones are zero. Fields that a
// client may rely on are always encoded; optional ones are left out when they are zero.
// The meaning of each message is described in docs/reference/protocol. Start at methods.go.
package wire
