// Package acp is the front end for the Agent Client Protocol, version 1. Like the LSP server, it is
// a client of the host.
//
// A core holds one host for a set of folders and MCP servers. It calls the requests of
// internal/rpc/agentapi directly. It converts the host's notifications to session/update, and the
// host's questions to session/request_permission and elicitation/create. Documents are the files
// that the client reads and writes for the daemon (fs/*).
//
// Package content converts prompts, tool calls and proposals. This package manages the connection,
// the sessions and the order of messages.
//
// The messages are the types of ACP's Go library. The library's connection is not used, because
// it ends at a line over 10 MiB, does not answer malformed lines, and runs requests out of order.
// Start reading at Serve.
//
// Lock order: core.lane, then any lock of agentapi or the host. Session.mu and core.mu are held for
// assignments only. The host calls core while it holds the lock of a session's feed, so neither
// lock is held while the host is called.
package acp
