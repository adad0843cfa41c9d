// Package modelhttp contains the code that the adapters of all model APIs share. This includes the
// transport with its timeouts, the reader of event streams, the limits on a reply, typed errors
// without secrets, request bodies that reuse the encoding of each message, and the forms of content
// that are the same in every API. The package does not depend on any particular API.
//
// An adapter creates a Client and runs Attempt for each model call. Call.Send sends the request. A
// call is one attempt, and the engine does the retries. Start at New and Attempt.
package modelhttp
