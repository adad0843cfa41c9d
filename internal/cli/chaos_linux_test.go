package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	// canFillDisk reports whether a daemon can run on its own small disk.
	canFillDisk = true
	// envSmallDisk names the folder on which a disk of smallDisk bytes is mounted.
	envSmallDisk = "AGENT_LSP_TEST_SMALL_DISK"
	smallDisk    = "size=6m"
	// envReadOnly names a folder that is not writable.
	envReadOnly = "AGENT_LSP_TEST_READ_ONLY"
)

// onSmallDisk makes a command run in its own mount namespace.
func onSmallDisk(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// mountSmallDisk mounts the small disk, or makes a folder read-only, as the environment requests.
// It runs in the daemon's process before anything else.
func mountSmallDisk() error {
	if dir := os.Getenv(envReadOnly); dir != "" {
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
		return syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
	}
	if dir := os.Getenv(envSmallDisk); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return syscall.Mount("tmpfs", dir, "tmpfs", 0, smallDisk)
	}
	return nil
}

// ballast is the path of the file that fills the small disk, as seen from outside the namespace.
func (w *world) ballast() string {
	if dir := seenFromOutside(w.mark, w.state); dir != "" {
		return filepath.Join(dir, "ballast")
	}
	return ""
}

// seenFromOutside returns the path under which this process can access a folder of a daemon that
// runs in a separate mount namespace. mark identifies the daemon. The path is "" if the daemon has
// exited.
func seenFromOutside(mark, dir string) string {
	for _, p := range marked(mark) {
		if pid := firstField(p); pid != "" {
			return filepath.Join("/proc", pid, "root", dir)
		}
	}
	return ""
}

func firstField(s string) string {
	for i, r := range s {
		if r == ' ' {
			if _, err := strconv.Atoi(s[:i]); err == nil {
				return s[:i]
			}
			return ""
		}
	}
	return ""
}

// toggleDisk fills the disk, or frees the space again.
func (w *world) toggleDisk() {
	path := w.ballast()
	if os.Remove(path) == nil {
		w.note("disk has room")
		return
	}
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer f.Close()
	for block := make([]byte, 64<<10); ; {
		if _, err := f.Write(block); err != nil {
			if errors.Is(err, syscall.ENOSPC) {
				w.note("disk full")
				w.tally.add("disk full")
			}
			return
		}
	}
}

func (w *world) freeDisk() { _ = os.Remove(w.ballast()) }
