//go:build !linux

package sandbox

import "syscall"

// Attr sets what the helper process itself must be started with: nothing here.
func (p *Plan) Attr(*syscall.SysProcAttr) {}

// CommandAttr sets what the command itself must be started with: nothing here.
func (p *Plan) CommandAttr(*syscall.SysProcAttr) {}

// Enter walls the calling thread in: nothing here, sandbox-exec works by its prefix.
func (p *Plan) Enter() error { return nil }

// Dial connects to nothing.
func (p *Plan) Dial() (int, error) { return -1, nil }

func filtersSockets() bool { return false }
