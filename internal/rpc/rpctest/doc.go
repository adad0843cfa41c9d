// Package rpctest plays an editor for tests: a JSON-RPC client with its own framing,
// a fake editor with its own buffers and its own offset arithmetic, and the runner of
// session scripts (testdata/session/*.txtar).
//
// It shares no code with the daemon on purpose: what it gets wrong and what the daemon
// gets wrong must not cancel out. Start at Script; the commands of a script are listed
// at commands in commands.go and in testdata/session/README.md.
package rpctest
