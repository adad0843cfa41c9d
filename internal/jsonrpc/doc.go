// Package jsonrpc transports JSON-RPC frames. Stream reads and checks what the peer sends and
// recovers from invalid input. Outbox is the only writer of a connection. The package knows
// JSON-RPC framing and that some waiting frames (deltas) may grow, but not what the frames mean.
// Start at Stream.ReadFrame and Outbox.
package jsonrpc
