//go:build linux && (amd64 || arm64)

package launcher

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// box is a workspace with a sandbox for its commands.
type box struct {
	t    testing.TB
	work string
	home string
	spec Spec
	env  []string
}

// newBox creates a workspace in which commands may write.
func newBox(t testing.TB) *box {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, work: base + "/work", home: base + "/home"}
	for _, d := range []string{b.work, b.home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.spec = Spec{Roots: []string{b.work}, Write: true, Home: b.home}
	b.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "LANG=C"}
	b.spec.Readable = HomeReadable(os.Getenv("HOME"), os.Getenv("PATH"))
	return b
}

// run runs a script in the sandbox and returns its exit code and output.
func (b *box) run(script string) (int, string) {
	b.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	args, err := b.spec.Args(exe, []string{"bash", "-c", script})
	if err != nil {
		b.t.Fatal(err)
	}
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env, c.SysProcAttr = b.work, b.env, &syscall.SysProcAttr{}
	Attr(c.SysProcAttr)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

// want runs a script that must succeed and print the given output.
func (b *box) want(script, output string) {
	b.t.Helper()
	if code, out := b.run(script); code != 0 || out != output {
		b.t.Errorf("%s: exit code %d, output %q, want %q", script, code, out, output)
	}
}

func (b *box) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// tree lists the names, kinds, permissions and contents of the files in the workspace.
func (b *box) tree() string {
	b.t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(b.work, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		out.WriteString(strings.TrimPrefix(path, b.work) + " " + fi.Mode().String())
		switch {
		case fi.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			out.WriteString(" -> " + to)
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out.WriteString(" " + string(data))
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out.String()
}

func TestProbe(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := Probe(exe); err != nil {
		t.Fatal(err)
	}
}

func TestChangesAreReal(t *testing.T) {
	b := newBox(t)
	b.write("old", "old\n")
	b.want(`set -e; umask 027
echo new > new; echo more >> old; mkdir -p d/e; mv new d/e/moved; ln -s d/e link
echo x > link/through; ln old hard
cp -p old copy; chmod 700 copy; touch -d 2001-02-03T04:05:06Z copy; stat -c %Y copy
mkfifo pipe; echo gone > gone; rm gone; rmdir -p --ignore-fail-on-non-empty d/e
truncate -s 2 hard; cd d && echo rel > ../rel; echo pipe > ../pipe & cat ../pipe; wait
test -w .; test -w ..; cat ../rel; mv ../rel /tmp/rel; cat /tmp/rel; mv /tmp/rel ../back`,
		"981173106\npipe\nrel\nrel\n")
	want := ` drwxr-xr-x
/back -rw-r----- rel

/copy -rwx------ old
more

/d drwxr-x---
/d/e drwxr-x---
/d/e/moved -rw-r----- new

/d/e/through -rw-r----- x

/hard -rw-r--r-- ol
/link Lrwxrwxrwx -> d/e
/old -rw-r--r-- ol
/pipe prw-r-----
`
	if got := b.tree(); got != want {
		t.Errorf("the workspace is\n%s\nwant\n%s", got, want)
	}
}
