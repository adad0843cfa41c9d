//go:build unix

package rpctest

import (
	"errors"
	"syscall"
)

func diskFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
