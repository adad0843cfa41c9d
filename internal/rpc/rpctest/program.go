package rpctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Program builds agent-lsp as for a user and returns the path of the program. Each tested package
// has its own folder below bin/ in the checkout, so that the program need not be linked again in
// the next run.
func Program(t testing.TB) string {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

var program = sync.OnceValues(func() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	top, err := checkout(here)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(top, "bin", "test", filepath.Base(here), "agent-lsp")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/agent-lsp")
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return bin, nil
})

// checkout returns the folder with go.mod that contains dir.
func checkout(dir string) (string, error) {
	for up := dir; ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			return up, nil
		}
		if up == filepath.Dir(up) {
			return "", fmt.Errorf("no folder above %s contains a go.mod file", dir)
		}
	}
}
