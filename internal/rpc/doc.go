// Package rpc is the daemon's LSP front end: a language server that supports agent/* in addition to
// LSP.
//
// It reads frames, preserves their order where it matters, converts wire messages to calls of the
// engine, the workspace and the session library, and converts their events to notifications. It
// does not create models, tools or policies; Options provides them. Reading never blocks on a turn,
// a tool, a provider or the client.
//
// Start at Serve. The table in routes.go lists how each method is handled.
package rpc
