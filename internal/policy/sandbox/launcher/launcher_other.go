//go:build !linux || (!amd64 && !arm64)

package launcher

import (
	"errors"
	"syscall"
)

// MaybeRun does nothing: this system has no such sandbox.
func MaybeRun() {}

// Attr does nothing: this system has no such sandbox.
func Attr(*syscall.SysProcAttr) {}

// Probe returns the reason why this system has no such sandbox.
func Probe(
	string,
) error {
	return errors.New("agent-lsp's own sandbox needs Linux on amd64 or arm64")
}
