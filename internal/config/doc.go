// Package config defines all settings and merges their layers (docs/reference/configuration.md):
// built-in, user file, workspace file, environment, initializationOptions, didChangeConfiguration,
// session.
//
// Each layer is validated against Config separately. A key that is unknown, has the wrong type or
// may not be set in this layer is ignored with a notice, and the rest takes effect. The tags of the
// types in types.go are the source of the built-in layer, the JSON Schema and
// docs/reference/configuration.md.
//
// The package starts no process. Start at Load and Set. provider.go finds the endpoint to use.
package config
