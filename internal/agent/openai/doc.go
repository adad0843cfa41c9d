// Package openai is an agent.Model over any OpenAI-compatible endpoint, on go-openai.
//
// go-openai makes the request and reads the stream; what it was measured to get wrong is
// mended around it: the request body is our own (encode*.go: each message is encoded once,
// go-openai's typed request would encode the whole history for every call, drop empty
// contents and refuse models by name), the transport (transport.go) refuses what is no
// stream and keeps status and headers, the stream is normalised before go-openai reads it
// (sse.go), and its lines are decoded leniently (chat.go, responses.go).
//
// The package reads no environment beyond the standard proxy and CA variables: everything
// else is in Options. It makes one attempt per call; retries are the engine's. Start at New.
package openai
