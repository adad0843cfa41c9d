//go:build unix

package workspace

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A limit on the size of files simulates a full disk, because writes then fail partway. The limit
// applies to the whole process, so the test runs itself again in another process.

const fullDiskEnv = "WORKSPACE_TEST_FULL_DISK"

// TestFullDisk accepts a change to several closed files, once on a disk with only a few kilobytes
// left and once on a disk that has no space even for the checkpoint.
func TestFullDisk(t *testing.T) {
	for _, room := range []uint64{16 << 10, 0} {
		t.Run(fmt.Sprint(room, " bytes"), func(t *testing.T) {
			exe, err := os.Executable()
			must(t, err)
			cmd := exec.Command(exe, "-test.run=^TestOnFullDisk$", "-test.count=1")
			cmd.Env = append(os.Environ(), fullDiskEnv+"="+fmt.Sprint(room))
			if out, err := cmd.CombinedOutput(); err != nil ||
				!bytes.Contains(out, []byte("PASS")) {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// TestOnFullDisk is run by TestFullDisk in a process with the limit.
func TestOnFullDisk(t *testing.T) {
	var room uint64
	if _, err := fmt.Sscan(os.Getenv(fullDiskEnv), &room); err != nil {
		return // only for TestFullDisk
	}
	// Each file is larger than the remaining space, but its compressed content is not.
	old := map[string]string{}
	for _, name := range []string{"a.txt", "b.txt"} {
		old[name] = name + "\n" + strings.Repeat("the same line again\n", 2000)
	}
	b := newBench(t, old)
	warm := b.propose(Auto, "warm.txt", "small\n")
	equal(t, "before", warm.State, StateApplied)

	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	soft := limit
	soft.Cur = room
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &soft))
	p := b.propose(Ask, "a.txt", "A\n"+old["a.txt"], "b.txt", "B\n"+old["b.txt"], "new.txt",
		strings.Repeat("new\n", 10000))
	r := b.decide(p, accept("*"))
	auto := b.propose(Auto, "b.txt", "B\n"+old["b.txt"])
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))

	equal(t, "conflicts", len(r.Conflicts), 3)
	for _, c := range r.Conflicts {
		if !strings.Contains(c.Reason, "file too large") {
			t.Errorf("the reason does not explain the failure: %q", c.Reason)
		}
	}
	if auto.State == StateApplied {
		t.Error("applied on a full disk")
	}
	for name, text := range old {
		equal(t, name+" is as it was", b.disk(name) == text, true)
	}
	if _, err := os.Stat(b.path("new.txt")); err == nil {
		t.Error("part of a new file is left")
	}
	left, _ := filepath.Glob(b.path(".*"))
	equal(t, "temporary files", len(left), 0)

	// When space is available again, pending changes can be decided and undone.
	equal(t, "accepted with room", len(b.decide(p, accept("*")).Conflicts), 0)
	equal(t, "a.txt", b.disk("a.txt") == "A\n"+old["a.txt"], true)
	equal(t, "undone", len(b.undo().Conflicts), 0)
	equal(t, "a.txt is restored", b.disk("a.txt") == old["a.txt"], true)
}
