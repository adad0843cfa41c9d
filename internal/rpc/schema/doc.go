// Package schema prints the wire types for other programs as JSON Schema, TypeScript and Lua types.
// It generates them from the Go structs in internal/rpc/wire and from the settings in
// internal/config, including their comments. Start at Load.
package schema
