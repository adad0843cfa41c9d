//go:build !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// Attr does nothing: the supervisor needs no attributes on this system.
func (p *Plan) Attr(*exec.Cmd) error { return nil }

// DropTracing does nothing: this system has no such right.
func DropTracing() error { return nil }

// CommandAttr does nothing: the command needs no attributes on this system.
func (p *Plan) CommandAttr(*syscall.SysProcAttr) {}

// Enter does nothing on this system, where the plan's prefix confines the command.
func (p *Plan) Enter() error { return nil }

// Dial opens no connection on this system. It returns -1.
func (p *Plan) Dial() (int, error) { return -1, nil }

func filtersSockets() bool { return false }
