// Package schema prints the wire as others can use it: JSON Schema, TypeScript and Lua types, made
// from the Go structs of internal/rpc/wire and their comments. Start at Load.
package schema
