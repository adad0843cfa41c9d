// Package agentapi answers the requests agent/* of one client with the host's sessions. It alone
// converts between the wire's types (internal/rpc/wire) and those of the engine, the workspace and
// the policy. The LSP server (internal/rpc) routes requests to it;
// the ACP server (internal/rpc/acp) calls it directly.
//
// Lock order: API.mu is held for a single assignment and never together with another lock.
package agentapi
