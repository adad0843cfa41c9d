// Package rpc is the daemon's face: a language server that speaks agent/* beside LSP.
//
// It reads frames, keeps their order where order matters, turns wire messages into calls
// of the engine, the workspace and the session library, and turns what these tell into
// notifications. It builds no model, no tool and no policy: those reach it through
// Options. It never blocks reading on a turn, a tool, a provider or the client.
//
// Start at Serve; which method is handled how stands in one table, routes.go.
package rpc
