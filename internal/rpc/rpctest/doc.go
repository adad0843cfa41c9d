// Package rpctest simulates an editor for tests: a JSON-RPC client with its own framing, a fake
// editor with its own buffers and offset arithmetic, and the runner of session scripts
// (testdata/session/*.txtar).
//
// It deliberately shares no code with the daemon, so that an error in both cannot go unnoticed.
// Start at Script. The commands of a script are listed at commands in commands.go and in
// testdata/session/README.md.
package rpctest
