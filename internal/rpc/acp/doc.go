// Package acp is the front end for the Agent Client Protocol, version 1: a sibling of the LSP
// server and, like it, a client of the host.
//
// A core holds one host for a set of folders and MCP servers. It calls the requests of
// internal/rpc/agentapi directly, subscribes to the host's notifications and turns them into
// session/update, and puts the host's questions as session/request_permission and
// elicitation/create. Documents are the files that the client reads and writes for us (fs/*).
//
// Package content converts prompts, tool calls and proposals; this package has the connection, the
// sessions and the order of messages.
//
// The messages are the types of the ACP's Go library. Its connection is not used, because it
// ends at a line over 10 MiB, answers no malformed line and runs requests out of order. Start
// reading at Serve.
//
// Lock order: core.lane, then any lock of agentapi or the host. Session.mu and core.mu are held for
// assignments only; the host calls core under a session's feed, so neither is held while the host
// is called.
package acp
