// Package anthropic is an agent.Model over Anthropic's Messages API and servers that speak it.
//
// The package is a thin adapter over package modelhttp: it writes the request (encode.go,
// messages.go), places the cache marks (messages.go), chooses the form of thinking (thinking.go)
// and reads the stream (decode.go). Thinking blocks and other blocks that the API wants back are
// kept in message.Block.Opaque, see keep.go. Start at New.
package anthropic
