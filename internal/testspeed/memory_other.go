//go:build !linux

package testspeed

// InMemory does nothing, because only Linux has an in-memory folder that needs no privileges.
func InMemory() (remove func()) { return func() {} }
