//go:build !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// Attr sets what the helper process itself must be started with: nothing here.
func (p *Plan) Attr(*exec.Cmd) error { return nil }

// DropTracing does nothing: this system has no such right.
func DropTracing() error { return nil }

// CommandAttr sets what the command itself must be started with: nothing here.
func (p *Plan) CommandAttr(*syscall.SysProcAttr) {}

// Enter walls the calling thread in: nothing here, sandbox-exec works by its prefix.
func (p *Plan) Enter() error { return nil }

// Dial connects to nothing.
func (p *Plan) Dial() (int, error) { return -1, nil }

func filtersSockets() bool { return false }
