package testspeed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// shared is the folder of Linux's in-memory file system. room is the free space that the folder
	// must have.
	shared = "/dev/shm"
	room   = 2 << 30
	// prefix, followed by a process ID, is the name of a folder in shared.
	prefix = "agent-lsp-"
	// noexec is the mount flag of a file system from which no program can be run. Many containers
	// mount shared with this flag.
	noexec = 0x8
)

// InMemory creates temporary folders in memory if the system has enough memory, because creating
// and removing thousands of small files on a disk takes longer than the tests. If TMPDIR is set, as
// by `make test-race` to test on the disk, InMemory does nothing. The returned function removes the
// folders.
func InMemory() (remove func()) {
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(shared, &fs) != nil || fs.Flags&noexec != 0 ||
		fs.Bavail*uint64(fs.Bsize) < room {
		return func() {}
	}
	sweep()
	dir := filepath.Join(shared, prefix+fmt.Sprint(os.Getpid()))
	if os.Mkdir(dir, 0o700) != nil || os.Setenv("TMPDIR", dir) != nil {
		return func() {}
	}
	return func() { _ = os.RemoveAll(dir) }
}

// sweep removes the folders of test runs that were killed.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(shared, prefix+"*"))
	for _, dir := range left {
		if _, err := os.Stat("/proc/" +
			strings.TrimPrefix(filepath.Base(dir), prefix)); os.IsNotExist(err) {
			_ = os.RemoveAll(dir)
		}
	}
}
