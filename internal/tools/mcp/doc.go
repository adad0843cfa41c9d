// Package mcp offers the tools of MCP servers as tools of the agent.
//
// Servers start in the background when a session starts, and requests to the model do not wait for
// them. A stdio server runs under the shell's supervisor. Other servers are reached over streamable
// HTTP.
// Each server fails and restarts independently. A Hub never decides whether a server may run. The
// caller passes only servers that the user has allowed. Start at Hub.
package mcp
