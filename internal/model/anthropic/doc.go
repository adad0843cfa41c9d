// Package anthropic implements agent.Model for Anthropic's Messages API and compatible servers.
//
// The package is a thin adapter over package modelhttp. It writes the request with its cache marks
// (encode.go, messages.go), chooses the form of thinking (thinking.go) and reads the stream
// (decode.go). message.Block.Opaque stores thinking blocks and other blocks that must be sent back
// to the API (see keep.go). Start at New.
package anthropic
