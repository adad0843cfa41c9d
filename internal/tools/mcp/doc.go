// Package mcp offers the tools of MCP servers as tools of the agent.
//
// Servers start in the background during the first prompt, over stdio under the supervisor or over
// streamable HTTP. Each server fails and restarts independently. A Hub never decides whether a
// server may run. The caller passes only servers that the user has allowed. Start at Hub.
package mcp
