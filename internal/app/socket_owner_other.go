//go:build !linux

package app

// listeners returns nil, because on this system agent-lsp cannot determine which program listens on
// an address.
func listeners(string) []string { return nil }
