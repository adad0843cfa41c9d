// Package jsonrpc reads and writes JSON-RPC frames. Stream reads and checks the peer's messages and
// recovers from invalid input. Outbox is the only writer of a connection. It bounds the memory for
// queued frames and merges queued deltas. The package does not interpret methods or parameters.
// Start at Stream.ReadFrame and Outbox.
package jsonrpc
