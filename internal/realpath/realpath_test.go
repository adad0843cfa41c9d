package realpath_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/realpath"
)

// TestEval compares Eval with filepath.EvalSymlinks for every kind of path.
func TestEval(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b", "file")
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "locked"), nil, 0))
	for link, to := range map[string]string{"rel": "a/b", "abs": file, "chain": "rel",
		"nowhere": "missing", "loop": "loop", "up": "a/../a"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("this system does not support symbolic links: ", err)
		}
	}
	paths := []string{dir, file, "/", dir + "/", dir + "//a/./b/../b", "/proc/self/exe",
		"/proc/self/fd/0"}
	for _, p := range []string{"rel", "rel/file", "rel/../a", "abs", "chain/file", "nowhere",
		"loop", "up/b", "missing", "missing/../a",
		"rel/missing", "nowhere/x", "a/missing/b", "a/b/file/below", "a/b/file/..", "locked"} {
		paths = append(paths, dir+"/"+p)
	}
	for _, p := range paths {
		want, wantErr := filepath.EvalSymlinks(p)
		got, err := realpath.Eval(p)
		if got != want || (err == nil) != (wantErr == nil) ||
			errors.Is(err, fs.ErrNotExist) != errors.Is(wantErr, fs.ErrNotExist) {
			t.Errorf("%s: %q %v, want %q %v", p, got, err, want, wantErr)
		}
		if realpath.Plain(p) && (err == nil && got != filepath.Clean(p) || throughLink(p)) {
			t.Errorf("%s leads through a link", p)
		}
	}
}

// throughLink reports whether a part of a path is a link.
func throughLink(path string) bool {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkEval(b *testing.B) {
	dir := b.TempDir()
	for name, eval := range map[string]func(string) (string, error){"Eval": realpath.Eval,
		"EvalSymlinks": filepath.EvalSymlinks} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := eval(dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
