// Package openai is an agent.Model over any OpenAI-compatible endpoint, on go-openai.
//
// go-openai makes the request and reads the stream. Where measurements showed that it is wrong,
// this package works around it: the request body is our own (encode*.go: each message is encoded
// once; go-openai's typed request would encode the whole history for every call, drop empty
// contents and refuse models by name), the transport of package modelhttp refuses answers that are
// not a stream and keeps status and headers, the stream is rewritten before go-openai reads it
// (stream.go), and its lines are decoded leniently (chat.go, responses.go).
//
// The package reads no environment beyond the standard proxy and CA variables: everything
// else is in Options. It makes one attempt per call; retries are the engine's. Start at New.
package openai
