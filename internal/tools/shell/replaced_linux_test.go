package shell

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const replacedVar = "AGENT_LSP_TEST_REPLACED"

// TestAReplacedProgramDoesNotRun runs a copy of this program. A command replaces the copy, as a
// build in the workspace could. The file that replaced it must not become a supervisor, which would
// run outside every sandbox.
func TestAReplacedProgramDoesNotRun(t *testing.T) {
	if dir := os.Getenv(replacedVar); dir != "" {
		runReplaced(t, dir)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := os.ReadFile(exe)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "program"), text, 0o755),
			os.WriteFile(filepath.Join(dir, "other"),
				[]byte("#!/bin/sh\ntouch "+dir+"/canary\n"), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(dir, "program"), "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), replacedVar+"="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "canary")); err == nil {
		t.Error("the other program ran")
	}
}

func runReplaced(t *testing.T, dir string) {
	r, err := New(Options{SpillDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.maxIdle = 0 // each command needs a new supervisor
	for _, script := range []string{
		"mv " + dir + "/other " + dir + "/program; echo one", "echo two",
	} {
		res, err := r.Run(context.Background(), Command{Script: script, Dir: dir})
		if err != nil || !strings.Contains(string(res.Head), script[len(script)-3:]) {
			t.Errorf("%s: %v, %q", script, err, res.Head)
		}
	}
}
