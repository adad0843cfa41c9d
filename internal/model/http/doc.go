// Package modelhttp is what every adapter of a model's API shares: the transport with its
// timeouts, the reader of event streams, the limits on a reply, typed errors without secrets,
// request bodies that keep the encoding of each message, and pieces of content that read alike
// in every API. It knows no API of its own.
//
// An adapter makes a Client, and for each call of a model runs Attempt. Call.Send sends the
// request. A call is one attempt: retries are the engine's. Start at New and Attempt.
package modelhttp
