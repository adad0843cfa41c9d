//go:build !unix

package rpc

import "os"

// Unblocked returns f, because on this system the process ends without waiting for a blocked Read.
func Unblocked(f *os.File) *os.File { return f }

// UnblockedInput returns f for the same reason as Unblocked.
func UnblockedInput(f *os.File) *os.File { return f }
