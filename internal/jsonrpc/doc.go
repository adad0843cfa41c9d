// Package jsonrpc transports JSON-RPC frames. Stream reads and checks the peer's messages and
// recovers from invalid input. Outbox is the only writer of a connection. The package implements
// JSON-RPC framing and lets some waiting frames (deltas) grow. It does not interpret the frames.
// Start at Stream.ReadFrame and Outbox.
package jsonrpc
