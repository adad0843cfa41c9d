// Package mcp offers the tools of MCP servers as tools of the agent.
//
// Servers start in the background beside the first prompt, over stdio under the
// supervisor or over streamable HTTP; each fails and restarts on its own. A Hub never
// decides whether a server may run: its caller gives it only servers that the user
// agreed to. Start at Hub.
package mcp
