// Package agentapi answers one client's agent/* requests with the host's sessions. Only this
// package converts between the types of the wire (internal/rpc/wire) and those of the engine, the
// workspace and the policy. The LSP server (internal/rpc) routes requests to it, and the ACP server
// (internal/rpc/acp) calls it directly.
//
// API.mu is held only for single assignments and never together with another lock.
package agentapi
