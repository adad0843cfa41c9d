//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// These tests use files and folders that are not writable or not readable. File permissions do not
// restrict root, so the test runs itself again as an unprivileged user. A read-only mount needs
// separate namespaces and is tested where the system allows them.

const readOnlyEnv = "WORKSPACE_TEST_READ_ONLY"

func TestReadOnly(t *testing.T) {
	dir := realDir(t)
	exe, err := os.Executable()
	must(t, err)
	own := filepath.Join(dir, "test")
	data, err := os.ReadFile(exe)
	must(t, err)
	must(t, os.WriteFile(own, data, 0o755))
	for d := dir; d != "/" && strings.HasPrefix(d, os.TempDir()) &&
		d != os.TempDir(); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	must(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o777))
	must(t, os.Chmod(filepath.Join(dir, "tmp"), 0o777))
	cmd := exec.Command(own, "-test.run=^TestAsNobody$", "-test.v", "-test.count=1")
	cmd.Dir = filepath.Join(dir, "tmp")
	cmd.Env = append(os.Environ(), readOnlyEnv+"=1", "TMPDIR="+cmd.Dir, "HOME="+cmd.Dir,
		"GOCOVERDIR="+cmd.Dir)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534,
			Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case len(out) == 0 && errors.Is(err, os.ErrPermission):
		t.Logf("the unprivileged user cannot run programs below %s: %v", os.TempDir(), err)
	case err != nil || !strings.Contains(string(out), "PASS"):
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestAsNobody is run by TestReadOnly in a process without root privileges.
func TestAsNobody(t *testing.T) {
	if os.Getenv(readOnlyEnv) == "" {
		return // only for TestReadOnly
	}
	for _, c := range []struct {
		name, reason string
		deny         func(b *bench)
	}{
		{"file", "read-only", func(b *bench) { must(t, os.Chmod(b.path("d/a.txt"), 0o444)) }},
		{"folder", "permission denied", func(b *bench) { must(t, os.Chmod(b.path("d"), 0o555)) }},
		{"unreadable file", "permission denied",
			func(b *bench) { must(t, os.Chmod(b.path("d/a.txt"), 0)) }},
		{"unreadable folder", "permission denied",
			func(b *bench) { must(t, os.Chmod(b.path("d"), 0)) }},
	} {
		t.Run(c.name, func(t *testing.T) { notWritten(t, c.reason, c.deny) })
	}
	t.Run("rename", notRenamed)
}

// notRenamed checks that a failed rename out of a read-only folder leaves no copy at the new path,
// in the same root or another, and that the rename succeeds once the permission is restored.
func notRenamed(t *testing.T) {
	b := newBench(t, map[string]string{"d/a.txt": ten})
	other := realDir(t)
	b.SetRoots([]string{"file://" + b.dir, "file://" + other})
	for _, root := range []string{b.dir, other} {
		to := filepath.Join(root, "e", "b.txt")
		p, err := b.change(Ask, Change{Op: Rename, Ref: b.ref("d/a.txt"), NewRef: b.ref(to)})
		must(t, err)
		must(t, os.Chmod(b.path("d"), 0o555))
		r := b.decide(p, accept("*"))
		must(t, os.Chmod(b.path("d"), 0o755))
		equal(t, "conflicts", len(r.Conflicts), 1)
		equal(t, "text", b.disk("d/a.txt"), ten)
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s is left", to)
		}
		equal(t, "conflicts with the right back", len(b.decide(p, accept("*")).Conflicts), 0)
		equal(t, "renamed", string(b.read(to).Text.Data), ten)
		equal(t, "files", len(b.files()), map[bool]int{true: 1, false: 0}[root == b.dir])
		equal(t, "undone", len(b.undo().Conflicts), 0)
	}
}

// notWritten removes a permission with deny after a proposal was made. The decision must fail with
// the reason, no file of the decision may be changed, and no other files may be left in their
// folder. The decision must succeed once the permission is restored.
func notWritten(t *testing.T, reason string, deny func(b *bench)) {
	b := newBench(t, map[string]string{"d/a.txt": ten, "b.txt": ten})
	p := b.propose(Ask, "d/a.txt", edited, "b.txt", edited)
	made := b.propose(Ask, "d/new.txt", "new\n")
	gone := b.propose(Ask, "b.txt", strings.Replace(ten, "ten", "TEN", 1))
	b.decide(gone, reject("*"))
	deny(b)
	allow := func() { _ = os.Chmod(b.path("d"), 0o755); _ = os.Chmod(b.path("d/a.txt"), 0o644) }
	defer allow()
	r := b.decide(p, accept("*"))
	reported := fmt.Sprint(r.Conflicts)
	if len(r.Conflicts) == 0 || !strings.Contains(reported, reason) ||
		strings.Contains(reported, b.dir) {
		t.Fatalf("the reason does not contain %q: %s", reason, reported)
	}
	closed := b.decide(made, accept("*"))
	folder := strings.Contains(fmt.Sprint(closed.Conflicts), "permission denied")
	if reason == "read-only" {
		if _, err := b.tryPropose(Auto, "d/a.txt", edited); err == nil {
			t.Fatal("a read-only file was changed")
		}
	}
	allow()
	equal(t, "a.txt", b.disk("d/a.txt"), ten)
	if !folder {
		equal(t, "a new file beside it", b.disk("d/new.txt"), "new\n")
	} else if _, err := os.Stat(b.path("d/new.txt")); err == nil {
		t.Fatal("a refused file exists")
	}
	left, _ := filepath.Glob(b.path("d/.*"))
	equal(t, "temporary files", len(left), 0)
	q := b.get(p.ID)
	if r := b.decide(&q, accept("*")); len(r.Conflicts) > 0 {
		t.Fatalf("after the permission was restored: %v", r.Conflicts)
	}
	equal(t, "a.txt in the end", b.disk("d/a.txt"), edited)
	equal(t, "b.txt in the end", b.disk("b.txt"), edited)
}
