//go:build !linux

package shell

func maybeDaemon() {}
