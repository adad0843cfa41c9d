// Package jsonrpc transports JSON-RPC frames. Stream reads and checks the peer's messages and
// recovers from invalid input. Outbox is the only writer of a connection. The package knows
// JSON-RPC framing and that some waiting frames (deltas) may grow, but does not interpret the
// frames. Start at Stream.ReadFrame and Outbox.
package jsonrpc
