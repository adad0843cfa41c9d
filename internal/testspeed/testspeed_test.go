package testspeed

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Parallel sets the requested parallelism, but keeps a higher value from the command line. During
// fuzzing, the value stays unchanged.
func TestParallel(t *testing.T) {
	at := flag.Lookup("test.parallel").Value.String()
	defer func() { _ = flag.Set("test.parallel", at) }()
	defer func() { _ = flag.Set("test.fuzz", "") }()
	for _, c := range []struct{ fuzz, was, want string }{
		{"", "1", "3"}, {"", "7", "7"}, {"FuzzX", "2", "2"},
	} {
		_ = flag.Set("test.fuzz", c.fuzz)
		_ = flag.Set("test.parallel", c.was)
		Parallel(3)
		if got := flag.Lookup("test.parallel").Value.String(); got != c.want {
			t.Errorf("%s became %s, not %s", c.was, got, c.want)
		}
	}
}

// The in-memory folder is removed at the end with all its content. If the user has set TMPDIR,
// the variable stays unchanged. If not enough memory is available, no variable is set and no folder
// is removed.
func TestInMemory(t *testing.T) {
	t.Setenv("TMPDIR", "/somewhere")
	InMemory()()
	if dir := os.TempDir(); dir != "/somewhere" {
		t.Errorf("the user's folder became %s", dir)
	}
	t.Setenv("TMPDIR", "")
	remove := InMemory()
	dir := os.Getenv("TMPDIR")
	if dir == "" {
		usual := os.TempDir()
		if remove(); usual != os.TempDir() {
			t.Errorf("%s became %s", usual, os.TempDir())
		}
		return
	}
	if err := os.WriteFile(filepath.Join(dir, "left"), nil, 0o600); err != nil {
		t.Error(err)
	}
	remove()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
