//go:build !windows

package shell

const useBash = true

const lastShell = "/bin/sh"
