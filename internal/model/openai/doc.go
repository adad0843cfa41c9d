// Package openai implements agent.Model for OpenAI-compatible endpoints, based on go-openai.
//
// go-openai makes the request. The package works around known faults of go-openai. It writes the
// request body itself (*encode.go) and encodes each message once. go-openai's typed request would
// encode the whole history for every call, drop empty contents and refuse models by name. The
// transport of package modelhttp refuses answers that are neither a stream nor JSON and keeps
// status and headers. The package reads the stream itself (events.go), because go-openai's reader
// is slow and ends without an error if a stream is cut off. Events are decoded leniently (chat.go,
// responses.go).
//
// The package reads no environment variables except the standard proxy and CA variables. Everything
// else is in Options. It makes one attempt per call, and the engine does the retries. Start at New.
package openai
