// Package settings puts the layers of the configuration together (protocol section 1): built-in,
// user file, workspace file, environment, initializationOptions, didChangeConfiguration, session.
//
// A layer is checked against wire.Config by itself: what is unknown, of the wrong type or not the
// layer's to set is left out with a notice, and the rest works. The same struct's tags give the
// built-in layer, the JSON Schema and docs/configuration.md, so that they cannot differ.
//
// The package starts no process and holds no secret. Start at Load and Set; provider.go finds
// the endpoint that answers.
package settings
