package wire

import "embed"

// Source is the source of this package, from which internal/rpc/schema makes the types of the
// clients, comments included.
//
//go:embed *.go
var Source embed.FS
