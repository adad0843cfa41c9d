package config

import _ "embed"

// Source is the source code of the settings' types. internal/rpc/schema generates the types of the
// clients from it, including the comments.
//
//go:embed types.go
var Source string
