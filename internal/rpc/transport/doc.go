// Package transport moves frames: Stream reads and checks what the client sends and
// survives whatever is wrong with it, Outbox is the one writer.
//
// It knows JSON-RPC framing and that some frames may grow while they wait (deltas), and
// nothing else of what the frames say. Start at Stream.ReadFrame and Outbox.
package transport
