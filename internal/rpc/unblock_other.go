//go:build !unix

package rpc

import "os"

// Unblocked returns f: here the process ends without waiting for a blocked Read.
func Unblocked(f *os.File) *os.File { return f }

// UnblockedInput returns f, likewise.
func UnblockedInput(f *os.File) *os.File { return f }
