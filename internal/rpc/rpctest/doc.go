// Package rpctest simulates an editor for tests. It contains a JSON-RPC client with its own
// framing, a fake editor with its own buffers and offset arithmetic, and the runner for session
// scripts (testdata/session/*.txtar).
//
// The package deliberately shares no code with the daemon, because an error in shared code would go
// unnoticed. Start reading at Script. The script commands are listed in the variable commands in
// commands.go and in testdata/session/README.md.
package rpctest
