//go:build !linux

package cli

import "os/exec"

// A small disk for a single process requires mount namespaces, which only Linux has.
const (
	canFillDisk  = false
	envSmallDisk = "AGENT_LSP_TEST_SMALL_DISK"
	envReadOnly  = "AGENT_LSP_TEST_READ_ONLY"
)

func onSmallDisk(*exec.Cmd) {}

func seenFromOutside(string, string) string { return "" }

func mountSmallDisk() error  { return nil }
func (w *world) toggleDisk() {}
func (w *world) freeDisk()   {}
