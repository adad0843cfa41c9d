// Package acp speaks the Agent Client Protocol, version 1, over the same core as the LSP face.
//
// It is an adapter without logic of its own: it runs the server of internal/rpc within the
// process and is a client of the wire like any editor, so every invariant of the core holds
// here by construction. Only bytes are saved: the handshake, requests and notifications of agent/* are passed
// as the wire's structs (rpc.Local). What the wire tells becomes session/update, what it asks
// becomes session/request_permission, elicitation/create and fs/*; documents are the files
// that the client reads and writes for us.
//
// The messages are the types of the ACP's Go library; its connection is not used, because it
// ends at a line over 10 MiB, answers no malformed line and runs requests out of order. Start
// at Serve; core is one server within, session one session of the client's.
package acp
