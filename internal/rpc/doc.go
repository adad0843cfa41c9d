// Package rpc is the daemon's LSP front end. It is a language server that supports agent/* in
// addition to LSP.
//
// It reads frames and preserves their order where it matters. It converts wire messages to calls of
// the engine, the workspace and the session library, and converts events to notifications. It does
// not create models, tools or policies, which Options provides. Reading never blocks on a turn, a
// tool, a provider or the client.
//
// Start at Serve. The table in routes.go lists how each method is handled.
package rpc
