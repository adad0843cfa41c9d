package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// attackTree builds a workspace with traps, and the folder outside the workspace to which they
// lead.
func attackTree(t *testing.T) (b *bench, outside string) {
	if runtime.GOOS == "windows" {
		t.Skip("Unix file system only; the Windows rules are in TestWindowsPaths")
	}
	b = newBench(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", "dir/deep/c.txt": "c\n"})
	outside = realDir(t)
	must(t, os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret\n"), 0o644))
	must(t, os.Mkdir(filepath.Join(outside, "sub"), 0o755))
	must(t, os.MkdirAll(b.dir+"-evil", 0o755))
	t.Cleanup(func() { os.RemoveAll(b.dir + "-evil") })
	must(t, os.WriteFile(b.dir+"-evil/x.txt", []byte("secret\n"), 0o644))
	link := func(to, name string) { must(t, os.Symlink(to, b.path(name))) }
	link(outside, "out")
	link(filepath.Join(outside, "secret.txt"), "leak.txt")
	link("../"+filepath.Base(outside), "relout")
	link("..", "up")
	link("/", "slash")
	link("/proc/self/root", "magic")
	link("/proc/self/cwd", "cwdlink")
	link("/proc/self/environ", "environ")
	link("/dev/zero", "zero")
	link("/dev/stdin", "stdin")
	link(filepath.Join(outside, "nowhere"), "dangling")
	link("missing-inside", "dangling2")
	link("loop2", "loop1")
	link("loop1", "loop2")
	link("out", "chain1")
	link("chain1", "chain2")
	link("dir/../../"+filepath.Base(outside), "winding")
	link("a.txt", "fine.txt")
	link(b.path("dir"), "finedir")
	makePipe(t, b.path("fifo"))
	return b, outside
}

// TestPathAttacks tries to read and write files outside the roots, and objects that are not regular
// files.
func TestPathAttacks(t *testing.T) {
	b, outside := attackTree(t)
	base := filepath.Base(outside)
	attacks := []string{
		"", "\x00", "a.txt\x00.md", "..", "../", "../..", "../../etc/passwd", "/etc/passwd",
		"//etc/passwd", "/etc/../etc/passwd",
		"dir/../../" + base + "/secret.txt", "./../" + base + "/secret.txt", outside +
			"/secret.txt", "../" + base + "/secret.txt",
		"out", "out/secret.txt", "out/sub", "out/sub/new.txt", "out/new.txt", "out/../" + base +
			"/secret.txt", "out/./secret.txt", "out//secret.txt",
		"leak.txt", "relout/secret.txt", "relout/new.txt", "up/" + base + "/secret.txt",
		"up/new.txt", "slash/etc/passwd", "slash/tmp/x", "slash" + outside + "/secret.txt",
		"magic/etc/passwd", "magic" + outside + "/secret.txt", "magic/proc/self/environ",
		"cwdlink/path_test.go", "environ", "zero", "stdin",
		"dangling", "dangling/x", "dangling2", "loop1", "loop1/x", "loop2", "chain1/secret.txt",
		"chain2/secret.txt", "chain2/new.txt", "winding/secret.txt",
		"finedir/../../" + base + "/secret.txt", "fifo", "dir", "dir/deep", ".", "./", "dir/",
		"a.txt/x", "a.txt/../../" + base + "/secret.txt",
		"/dev/zero", "/dev/null", "/dev/tty", "/dev/mem", "/dev/fd/0", "/dev/stdin",
		"/proc/self/mem", "/proc/self/environ", "/proc/1/cwd", "/proc/self/fd/0",
		"/sys/power/state", "/proc/self/root/etc/passwd",
		"~/secret", "~root/.ssh/id_rsa", "~/../etc/passwd", "file:///etc/passwd",
		"file://localhost/etc/passwd", "file:/etc/passwd", "FILE:///etc/passwd",
		"file://otherhost/etc/passwd",
		"file://" + outside + "/secret.txt", "file://" + b.dir + "/../" + base + "/secret.txt",
		"file://" + b.dir + "/%2e%2e/" + base + "/secret.txt", "file://" + b.dir + "/..%2f" + base +
			"/secret.txt",
		"file://" + b.dir + "/out/secret.txt", "file://" + b.dir + "/%6fut/secret.txt", "file://" +
			b.dir + "/leak.txt", "file://" + b.dir + "/a%00b", "file://" + b.dir + "/%zz",
		"file://", "file:", "file:relative",
		"file:///proc/self/environ", "untitled:nothing", "untitled:../../etc/passwd",
		"http://example.com/x", "vscode-remote://host/etc/passwd",
		"vscode-notebook-cell:/x.ipynb#1", "vscode-notebook-cell:" + b.dir + "/a.txt",
		"git:/etc/passwd?x", "javascript:alert(1)://", b.dir + "-evil/x.txt", b.dir + "/../" +
			filepath.Base(b.dir) + "-evil/x.txt", "../" + filepath.Base(b.dir) + "-evil/x.txt",
		"dir/..\u2044..\u2044etc/passwd", "\u2025/etc/passwd",
		"\uff0e\uff0e/\uff0e\uff0e/etc/passwd", "..\u200b/secret.txt", "out\u200d/secret.txt",
		"..%2f..%2fetc%2fpasswd", "%2e%2e/secret.txt", "%2fetc%2fpasswd",
		"..\\..\\etc\\passwd", "C:\\Windows\\win.ini", "\\\\host\\share\\x", "\\\\?\\C:\\x",
		"a.txt:stream", "CON", strings.Repeat("../", 200) + "etc/passwd",
		strings.Repeat("a/", 2000) + "x", strings.Repeat("x", 5000),
		"./out/./secret.txt", "dir/deep/../../out/secret.txt", "dir/deep/../../../" + base +
			"/secret.txt", "$HOME/.ssh/id_rsa", "`id`", "../" + filepath.Base(b.dir) +
			"/out/secret.txt", "/./etc/./passwd", "/../etc/passwd", " /etc/passwd", "/etc/passwd ",
	}
	if len(attacks) < 100 {
		t.Fatalf("only %d attacks", len(attacks))
	}
	for i, a := range attacks {
		t.Run(fmt.Sprintf("%03d", i), func(t *testing.T) { attackPath(t, b, a) })
	}
	data, err := os.ReadFile(filepath.Join(outside, "secret.txt"))
	must(t, err)
	equal(t, "the secret", string(data), "secret\n")
	for _, dir := range []string{outside, filepath.Join(outside, "sub"), b.dir + "-evil"} {
		names, err := os.ReadDir(dir)
		must(t, err)
		for _, n := range names {
			if n.Name() != "secret.txt" && n.Name() != "sub" && n.Name() != "x.txt" {
				t.Fatalf("something was written outside: %s/%s", dir, n.Name())
			}
		}
	}
}

func attackPath(t *testing.T, b *bench, a string) {
	ref, err := b.Resolve(b.dir, a)
	if err != nil {
		return
	}
	if _, in := path.Within(b.dir, ref.Path); !in {
		t.Fatalf("%q resolves to %q", a, ref.Path)
	}
	if f, err := b.Read(context.Background(), ref); err == nil {
		t.Fatalf("%q was read: %q", a, f.Text.Data)
	}
	if f, _, err := b.OpenDisk(ref); err == nil {
		f.Close()
		t.Fatalf("%q was opened", a)
	}
	// The remaining paths are unusual names of files that do not exist. They may be created inside
	// a root.
	p, err := b.Propose(context.Background(),
		ProposeRequest{SessionID: "s", Policy: Auto,
			Changes: []Change{{Op: Create, Ref: ref, Data: []byte("x")}}})
	if err == nil && p.State == StateApplied {
		real, err := filepath.EvalSymlinks(ref.Path)
		must(t, err)
		if _, in := path.Within(b.dir, real); !in {
			t.Fatalf("%q was written to %q", a, real)
		}
		must(t, os.Remove(real))
	}
}

func TestPathsThatWork(t *testing.T) {
	b, _ := attackTree(t)
	for in, rel := range map[string]string{
		"a.txt": "a.txt", "./a.txt": "a.txt", "dir/../a.txt": "a.txt", b.path("a.txt"): "a.txt",
		b.uri("a.txt"): "a.txt", "fine.txt": "a.txt",
		"finedir/b.txt": "dir/b.txt", "file://" + b.dir + "/dir/%62.txt": "dir/b.txt",
		"file://localhost" + b.path("a.txt"): "a.txt", "dir//b.txt": "dir/b.txt",
	} {
		ref, err := b.Resolve(b.dir, in)
		must(t, err)
		equal(t, in, ref.Rel, rel)
		_, err = b.Read(context.Background(), ref)
		must(t, err)
	}
}

// TestRaceBetweenCheckAndUse replaces a folder with a link that leads outside, while files in it
// are read and written with paths that were resolved earlier.
func TestRaceBetweenCheckAndUse(t *testing.T) {
	b, outside := attackTree(t)
	must(t, os.WriteFile(filepath.Join(outside, "b.txt"), []byte("SECRET\n"), 0o644))
	ref := b.ref("dir/b.txt")
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			_ = os.Rename(b.path("dir"), b.path("dir.real"))
			_ = os.Symlink(outside, b.path("dir"))
			_ = os.Remove(b.path("dir"))
			_ = os.Rename(b.path("dir.real"), b.path("dir"))
		}
	})
	for range 2000 {
		if f, err := readDisk(ref); err == nil && string(f.Text.Data) == "SECRET\n" {
			t.Fatal("because of the race, a file outside was read")
		}
		_ = files.Write(ref, []byte("b\n"), HashOf([]byte("b\n")), 0)
		_ = files.Remove(ref, HashOf([]byte("SECRET\n")))
	}
	stop.Store(true)
	wg.Wait()
	data, err := os.ReadFile(filepath.Join(outside, "b.txt"))
	must(t, err)
	equal(t, "the file outside", string(data), "SECRET\n")
}

func TestNoFolderOpen(t *testing.T) {
	home := realDir(t)
	must(t, os.WriteFile(filepath.Join(home, "x.txt"), []byte("x\n"), 0o644))
	for _, wd := range []string{"/", home} {
		b := newBench(t, nil, func(o *Options, _ *fakeEditor) { o.WorkingDir, o.Home = wd, home })
		b.SetRoots(nil)
		uri := "file://" + filepath.Join(home, "x.txt")
		if _, err := b.Resolve("", filepath.Join(home, "x.txt")); !errors.Is(err, path.ErrOutside) {
			t.Fatalf("%s: %v", wd, err)
		}
		b.ed.open(uri, "buffer\n")
		ref, err := b.Resolve("", uri)
		must(t, err)
		f, err := b.Read(context.Background(), ref)
		must(t, err)
		equal(t, "text", string(f.Text.Data), "buffer\n")
		if ref.IsFile() {
			t.Fatal("the file on disk must not be accessible")
		}
	}
	b := newBench(t, nil, func(o *Options, _ *fakeEditor) { o.WorkingDir, o.Home = "/", home })
	b.SetRoots(nil)
	sub := realDir(t)
	must(t, os.WriteFile(filepath.Join(sub, "y.txt"), []byte("y\n"), 0o644))
	ref, err := b.Resolve(sub, "y.txt")
	must(t, err)
	equal(t, "rel", ref.Rel, "y.txt")
}

// The home folder, or a folder that contains it, becomes a root only after it is allowed, however
// the client spells its path. Until then, documents that the editor opens in it can be used, and so
// can the other folders.
func TestWideFoldersAreHeldBack(t *testing.T) {
	around := realDir(t)
	home, project := filepath.Join(around, "home"), filepath.Join(around, "project")
	link := filepath.Join(realDir(t), "link")
	must(t, os.Mkdir(home, 0o755))
	must(t, os.Mkdir(project, 0o755))
	must(t, os.Symlink(home, link))
	near, far := filepath.Join(project, "x.txt"), filepath.Join(home, "x.txt")
	for _, file := range []string{near, far} {
		must(t, os.WriteFile(file, []byte("x\n"), 0o644))
	}
	for _, folder := range []string{"/", around, home, link, home + "/", project + "/../home"} {
		b := newBench(t, nil, func(o *Options, _ *fakeEditor) { o.Home = home })
		b.SetRoots([]string{"file://" + folder, "file://" + project})
		equal(t, "folders that are held", len(b.UndecidedFolders()), 1)
		for _, name := range []string{far, filepath.Join(link, "x.txt")} {
			_, err := b.Resolve("", name)
			if !errors.Is(err, path.ErrOutside) || !strings.Contains(err.Error(), "not allowed") {
				t.Fatalf("%s in %s: %v", name, folder, err)
			}
		}
		ref, err := b.Resolve("", near)
		must(t, err)
		equal(t, "the root of a file in another folder", ref.Root, project)
		b.ed.open("file://"+far, "buffer\n")
		ref, err = b.Resolve("", far)
		must(t, err)
		if ref.IsFile() {
			t.Fatal("the file on disk must not be accessible")
		}
		b.AllowFolder(b.UndecidedFolders()[0])
		equal(t, "folders that are held", len(b.UndecidedFolders()), 0)
		if folder == "/" {
			continue // the test's own folder may be in /dev/shm, whose files are never used
		}
		ref, err = b.Resolve("", far)
		must(t, err)
		if !ref.IsFile() {
			t.Fatalf("%s is not used after it was allowed", folder)
		}
	}
	b := newBench(t, nil, func(o *Options, _ *fakeEditor) { o.Home = home })
	b.SetRoots([]string{"file://" + project, "file://" + filepath.Join(home, "sub")})
	equal(t, "folders in the home folder that are held", len(b.UndecidedFolders()), 0)
}

// FuzzResolve searches for a spelling that leads out of the root or makes Resolve panic.
func FuzzResolve(f *testing.F) {
	dir := realDir(f)
	must(f, os.Symlink("/etc", filepath.Join(dir, "out")))
	must(f, os.Mkdir(filepath.Join(dir, "in"), 0o755))
	for _, s := range []string{"a", "../x", "out/passwd", "in/../../x", "file:///etc/passwd",
		"file://" + dir + "/in/%2e%2e/%2e%2e/x", "untitled:1", "~/x", "C:\\x", "in/./a\x00"} {
		f.Add(s)
	}
	w := New(Options{Home: "/root"})
	f.Cleanup(w.Close)
	w.SetRoots([]string{"file://" + dir})
	f.Fuzz(func(t *testing.T, name string) {
		ref, err := w.Resolve(dir, name)
		if err != nil {
			return
		}
		if _, in := path.Within(dir, ref.Path); !in || !ref.IsFile() {
			t.Fatalf("%q leads to %q", name, ref.Path)
		}
	})
}
