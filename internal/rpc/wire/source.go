package wire

import "embed"

// Source is the source code of this package. internal/rpc/schema generates the types of the clients
// from it, including the comments.
//
//go:embed *.go
var Source embed.FS
