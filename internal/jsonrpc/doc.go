// Package jsonrpc moves JSON-RPC frames. Stream reads and checks what the peer sends and
// recovers from bad input; Outbox is the only writer of a connection. The package knows
// JSON-RPC framing and that some frames may grow while they wait (deltas), and nothing
// else about what the frames mean. Start at Stream.ReadFrame and Outbox.
package jsonrpc
