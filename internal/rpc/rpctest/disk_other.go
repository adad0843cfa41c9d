//go:build !unix

package rpctest

func diskFull(error) bool { return true }
