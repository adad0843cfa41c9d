// Package app builds the components of one connection from the settings and connects them: models,
// tools, policy, workspace, MCP and language servers, memory and hooks. It implements
// agent.Environment.
//
// Start at newCore in core.go, which builds the components, and at Next in session_env.go, which
// the engine calls once before each model call. Only package cli imports app.
//
//house:large it builds every part of the program from the settings, one file for each part
package app
