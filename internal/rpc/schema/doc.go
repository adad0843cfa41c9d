// Package schema prints the wire types for other programs as JSON Schema, TypeScript and Lua types.
// It generates them from the Go structs of internal/rpc/wire and their comments. Start at Load.
package schema
