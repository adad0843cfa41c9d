//go:build linux && (amd64 || arm64)

package launcher

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder in which one name is protected cannot be replaced by a link, because the name could then
// be created where the link leads.
func TestLinksBecomeNoProtectedFolders(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"ln -s x .cargo; mkdir x; echo evil > x/config.toml",
		"mkdir x; echo evil > x/config.toml; ln -s x l; mv l .cargo",
		"mkdir x; echo evil > x/config.toml; ln -s x l; ln -P l .cargo",
		"mkdir -p x/workflows; echo evil > x/workflows/x.yml; ln -sfn x .github",
		"mkdir -p sub/x; echo evil > sub/x/config.toml; ln -s x sub/.Cargo",
		`mkdir x .cargo; echo evil > x/config.toml; ln -s x l
python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b"l", -100, b".cargo", 2)'`,
		`mkdir -p node_modules/p/c; echo evil > node_modules/p/c/config.toml
mv node_modules/p/c node_modules/p/.cargo`,
	} {
		b := newBox(t)
		_, out := b.run(script)
		for _, name := range []string{".cargo/config.toml", ".github/workflows/x.yml",
			"sub/.Cargo/config.toml", "node_modules/p/.cargo/config.toml"} {
			if _, err := os.Stat(filepath.Join(b.work, name)); err == nil {
				t.Errorf("%s created %s: %s", script, name, out)
			}
		}
	}
}

// A root, and a readable path in a root, are not opened through a link that appeared after the path
// was resolved.
func TestNoRootIsOpenedThroughALink(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	outside := filepath.Dir(b.work) + "/outside"
	if err := os.MkdirAll(outside+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside+"/sub/secret", []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, b.work+"/link"); err != nil {
		t.Fatal(err)
	}
	spec := b.spec
	for name, change := range map[string]func(){
		"root":     func() { b.spec.Roots = []string{b.work + "/link/sub"} },
		"readable": func() { b.spec.Readable = append(spec.Readable, b.work+"/link/sub/secret") },
		"cache":    func() { b.spec.Caches = []string{b.work + "/link/sub"} },
	} {
		b.spec = spec
		change()
		if code, out := b.run("touch " + b.work + "/link/sub/new; echo ran"); code != exitFailed {
			t.Errorf("%s: the command ran with exit code %d: %s", name, code, out)
		}
		if _, err := os.Lstat(outside + "/sub/new"); err == nil {
			t.Errorf("%s: a file outside was created", name)
		}
	}
}
