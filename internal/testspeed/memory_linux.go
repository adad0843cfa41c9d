package testspeed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// shared is where Linux has a file system in memory; room is what must be free there.
	shared = "/dev/shm"
	room   = 2 << 30
	// prefix and a process's id name a folder there.
	prefix = "agent-lsp-"
	// noexec is the flag of a file system that runs no programs, such as that of many containers.
	noexec = 0x8
)

// InMemory has temporary folders made in memory, where the system has room for them: a disk takes
// longer to make and remove thousands of small files than the tests take. A TMPDIR that is set is
// kept, as `make test-race` does to be on the disk. The function that is returned removes what is
// left.
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

// sweep removes the folders of runs that were killed.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(shared, prefix+"*"))
	for _, dir := range left {
		if _, err := os.Stat("/proc/" +
			strings.TrimPrefix(filepath.Base(dir), prefix)); os.IsNotExist(err) {
			_ = os.RemoveAll(dir)
		}
	}
}
