package config

import _ "embed"

// Source is the source of the settings' types, from which internal/rpc/schema makes those of the
// clients, comments included.
//
//go:embed types.go
var Source string
