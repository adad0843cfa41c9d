//go:build !linux

package testspeed

// InMemory does nothing: only Linux has a place for it that needs no rights.
func InMemory() (remove func()) { return func() {} }
