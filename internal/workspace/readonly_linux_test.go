package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const mountEnv = "WORKSPACE_TEST_MOUNT"

// TestReadOnlyMount mounts a folder of the workspace read-only for a process in its own namespaces.
// If the system does not support this, the test logs that, and only the permission cases in
// TestReadOnly are tested.
func TestReadOnlyMount(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, "-test.run=^TestOnReadOnlyMount$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), mountEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && len(out) == 0:
		t.Logf("no namespaces here: %v", err)
	case strings.Contains(string(out), "no mounts here"):
		t.Log(string(out))
	case err != nil || !strings.Contains(string(out), "refused as it should be"):
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestOnReadOnlyMount is run by TestReadOnlyMount in a process with the namespaces.
func TestOnReadOnlyMount(t *testing.T) {
	if os.Getenv(mountEnv) == "" {
		return // only for TestReadOnlyMount
	}
	b := newBench(t, map[string]string{"d/a.txt": ten, "b.txt": ten})
	p := b.propose(Ask, "d/a.txt", edited, "d/new.txt", "new\n", "b.txt", edited)
	_ = syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, "")
	err := syscall.Mount(b.path("d"), b.path("d"), "", syscall.MS_BIND, "")
	if err == nil {
		err = syscall.Mount("", b.path("d"), "",
			syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	if err != nil {
		t.Logf("no mounts here: %v", err)
		return
	}
	r := b.decide(p, accept("*"))
	must(t, syscall.Unmount(b.path("d"), syscall.MNT_DETACH))
	for _, c := range r.Conflicts {
		if !strings.Contains(c.Reason, "read-only file system") {
			t.Errorf("the reason does not explain the failure: %q", c.Reason)
		}
	}
	equal(t, "a.txt", b.disk("d/a.txt"), ten)
	equal(t, "all or none of the closed files", b.disk("b.txt"), ten)
	left, _ := filepath.Glob(b.path("d/*"))
	equal(t, "files", len(left), 1)
	equal(t, "with the mount gone", len(b.decide(p, accept("*")).Conflicts), 0)
	equal(t, "a.txt in the end", b.disk("d/a.txt"), edited)
	t.Log("refused as it should be")
}
