//go:build unix

package workspace

import (
	"syscall"
	"testing"
)

func makePipe(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o644)) }
