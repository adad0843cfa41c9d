// Package mcp offers the tools of MCP servers as tools of the agent.
//
// Servers start in the background during the first prompt, over stdio under the supervisor or over
// streamable HTTP. Each fails and restarts independently. A Hub never decides whether a server may
// run: its caller passes only servers that the user agreed to. Start at Hub.
package mcp
