//go:build linux && (amd64 || arm64)

package launcher

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// protectedNames contains an example for each entry in the list of protected files.
var protectedNames = []string{
	".git/x",
	".git",
	".agent-lsp.json",
	".agent-lsp/x",
	".agents/x",
	".vscode/tasks.json",
	".idea/x",
	".zed/tasks.json",
	".nvim.lua",
	".nvimrc",
	".exrc",
	".vimrc",
	"a.code-workspace",
	".devcontainer/x",
	".devcontainer.json",
	".envrc",
	".husky/pre-commit",
	".gitattributes",
	".gitmodules",
	".pre-commit-config.yaml",
	".github/workflows/x.yml",
	".gitlab-ci.yml",
	".circleci/config.yml",
	".mcp.json",
	".claude/settings.json",
	".cursor/x",
	".cargo/config.toml",
	".yarnrc",
	".yarnrc.yml",
	".npmrc",
	".ENVRC",
	".GitHub/Workflows/x",
}

// creations are ways to create a file NAME in a folder DIR that may not exist yet.
var creations = []string{
	`mkdir -p DIR && echo x > NAME`,
	`mkdir -p DIR; touch NAME`,
	`mkdir -p DIR; echo x > /tmp/f; cp /tmp/f NAME`,
	`mkdir -p DIR; echo x > free; mv free NAME`,
	`mkdir -p DIR; echo x > free; ln free NAME`,
	`mkdir -p DIR; ln -s free NAME`,
	`mkdir -p DIR; mkfifo NAME`,
	`mkdir -p NAME`,
	`mkdir -p DIR; ln -s NAME link; echo x > link`,
	`mkdir -p DIR; ln -s DIR d; cd d 2>/dev/null && echo x > "$(basename NAME)"`,
	`mkdir -p DIR; cd DIR && echo x > ../"$(basename DIR)/$(basename NAME)"`,
	`mkdir -p DIR; echo x > "$PWD/./NAME"`,
	`mkdir -p DIR; echo x > "/proc/self/cwd/NAME"`,
	`mkdir -p DIR; echo x > "/proc/$$/root$PWD/NAME"`,
}

func TestProtectedFilesAreNeverCreated(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", "made/by/the/command/"} {
		b := newBox(t)
		var script strings.Builder
		for _, name := range protectedNames {
			some := creations
			if !strings.HasPrefix(name, ".envrc") && !strings.Contains(name, "/") {
				some = creations[:3]
			}
			for i, c := range some {
				name := at + name
				r := strings.NewReplacer("NAME", name, "DIR", filepath.Dir(name))
				fmt.Fprintf(&script, "mkdir -p s%d; (cd s%d; %s) 2>/dev/null\n", i, i, r.Replace(c))
			}
		}
		b.run(script.String())
		for line := range strings.Lines(b.tree()) {
			path, _, _ := strings.Cut(line, " ")
			if StartsPrograms(strings.TrimPrefix(path, "/")) {
				t.Errorf("%q was created", path)
			}
		}
		if !strings.Contains(b.tree(), "/s0/"+at+".github ") {
			t.Error("the scripts created nothing at all, so the test checks nothing")
		}
	}
}

// TestInstalledPackages checks that some protected names are allowed below node_modules, because
// packages may contain them, and that such files cannot be moved into or out of node_modules.
func TestInstalledPackages(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("sub/.vscode/tasks.json", "the user's")
	b.write("conf/.env", "secret")
	b.write("node_modules/.bin/x", "")
	b.want(
		`set -e; mkdir -p node_modules/p/.github/workflows node_modules/p/.vscode; cd node_modules/p
echo x > .gitattributes; echo x > .github/workflows/ci.yml; echo x > .vscode/settings.json
mkdir .husky; echo key > test.pem
mv .github .g; mv .g .github; mv ../p ../q; mv ../q ../p; cat .vscode/settings.json test.pem`,
		"x\nkey\n",
	)
	b.want(`cat node_modules/p/test.pem; cat conf/.env 2>/dev/null || echo masked`, "key\nmasked\n")
	before := b.tree()
	for _, script := range []string{
		"mkdir node_modules/p/.git",
		"mkdir -p node_modules/p/.git/hooks",
		"echo x > node_modules/p/.envrc",
		"echo x > node_modules/p/.npmrc",
		"mkdir node_modules/p/.claude",
		"echo x > node_modules/p/.exrc",
		"mv node_modules/p/.vscode .vscode",
		"mv node_modules/p p",
		"mv node_modules modules",
		"mv node_modules/p/.github .github",
		"cp -al node_modules/p/.vscode .vscode",
		"mv sub node_modules/sub",
		"mv sub node_modules/p/",
		"mv conf node_modules/conf",
		"mv conf node_modules/p/conf",
		"mv --exchange sub node_modules/p || false",
		`python3 -c 'import ctypes; c = ctypes.CDLL(None)
exit(c.renameat2(-100, b"sub", -100, b"node_modules/p", 2) != 0)'`,
		"ln -s . node_modules/node_modules && echo x > node_modules/node_modules/../.vscode/x",
		"mkdir Node_Modules && mkdir Node_Modules/.vscode",
		"ln -s .. node_modules/up && mkdir node_modules/up/.vscode",
		"mkdir -p x && ln -s .. x/node_modules && mkdir x/node_modules/.vscode",
	} {
		if code, out := b.run(script); code == 0 {
			t.Errorf("%s succeeded: %s", script, out)
		}
		b.run(
			"rm -rf Node_Modules x node_modules/up node_modules/node_modules",
		) // files that the attempt may have created
		if now := b.tree(); now != before {
			t.Fatalf("%s changed\n%s\nto\n%s", script, before, now)
		}
	}
}

// TestStoredSecretsAreReadable checks that a secret file is readable if Git has stored its current
// content, because hiding the file would not hide that content.
func TestStoredSecretsAreReadable(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "4"} {
		b := newBox(t)
		b.write("a/key.pem", "stored")
		b.write("a/other.pem", "stored too")
		b.write("a/changed.pem", "old")
		b.write("z", "")
		b.git("init", "-q")
		b.git("add", ".")
		b.git("update-index", "--index-version", version)
		b.write("z", "now") // so that the next add writes an index that is newer than the key files
		b.git("add", ".")
		b.write("a/changed.pem", "new")
		b.write("a/mine.pem", "mine")
		b.want(
			`cd a; cat key.pem other.pem; cat changed.pem mine.pem 2>/dev/null || echo masked`,
			"storedstored toomasked\n",
		)
		b.write("a/key.pem", "STORED") // same size as before
		b.want(`cat a/key.pem 2>/dev/null || echo masked`, "masked\n")
	}
}

// TestDescriptors checks that a command can change the mode, times or owner of a file through an
// open descriptor only if it can change the file by name.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("d/f", "x")
	b.write(".vscode/tasks.json", "x")
	code, out := b.run(`python3 -c '
import os
d = os.open("d", os.O_RDONLY)
os.fchmod(d, 0o711); os.utime(d, (1, 1))
f = os.open("d/f", os.O_RDONLY)
os.fchmod(f, 0o640); os.fchown(f, -1, -1); os.utime(f, (2, 2))
w = os.open("d/f", os.O_RDWR)
os.utime(w, (3, 3)); os.fchmod(w, 0o600)
for s in [os.stat("d"), os.stat("d/f")]: print(oct(s.st_mode & 0o777), int(s.st_mtime))
for name in [".vscode", ".vscode/tasks.json", "/etc", "/etc/hostname"]:
    p = os.open(name, os.O_RDONLY)
    for change in [
        lambda: os.fchmod(p, 0o777), lambda: os.utime(p, (4, 4)), lambda: os.fchown(p, -1, -1),
        lambda: os.chmod("/proc/self/fd/%d" % p, 0o777)]:
        try: change(); print("changed", name)
        except OSError: pass
'`)
	if code != 0 ||
		!strings.HasPrefix(out, "0o711 1\n0o600 3\nagent-lsp: the sandbox did not change") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

// changes are ways to change or remove an existing protected file P in the folder D.
var changes = []string{
	`echo x > P`,
	`echo x >> P`,
	`rm -f P`,
	`rm -rf D`,
	`mv P other`,
	`mv D other`,
	`ln P other; echo x > other`,
	`ln -s P l; echo x > l`,
	`truncate -s 0 P`,
	`chmod 777 P`,
	`touch -d 2001-01-01 P`,
	`echo y > y; mv y P`,
	`echo y > y; cp -f y P`,
	`cp -al D d2; echo x > d2/*`,
	`exec 9<> P; echo x >&9`,
	`sed -i s/o/x/ P`,
	`dd if=/dev/zero of=P count=1`,
	`cd D; echo x > "$(basename P)"`,
	`ln -s "$PWD" /tmp/w; echo x > /tmp/w/P`,
	`exec 9< P; echo x > /proc/self/fd/9`,
	`exec 9< D; echo x > "/proc/self/fd/9/$(basename P)"`,
	`perl -e 'open F, "+<", "P" or die; print F "x"'`,
	`python3 -c 'import os; os.chdir("D"); os.truncate(os.path.basename("P"), 0)'`,
	`python3 -c 'import os; os.rename("D", "D2")'`,
	`mount --bind /tmp D`,
	`unshare -Urm sh -c 'mount -o remount,rw,bind "$PWD"; echo x > P'`,
}

func TestProtectedFilesKeepTheirContent(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	files := []string{
		".git/config",
		".envrc",
		"sub/.vscode/tasks.json",
		"sub/.github/workflows/x.yml",
	}
	var script strings.Builder
	for _, f := range files {
		b.write(f, "old")
		for i, c := range changes {
			r := strings.NewReplacer("P", f, "D", filepath.Dir(f), "$PWD", "$PWD", "PWD", "PWD")
			fmt.Fprintf(
				&script,
				"mkdir -p s%d; (%s) >/dev/null 2>&1\n",
				i,
				r.Replace(strings.ReplaceAll(c, "$PWD", b.work)),
			)
		}
	}
	code, out := b.run(script.String() + "echo end")
	if code != 0 || !strings.HasPrefix(out, "end\n") {
		t.Errorf("exit code %d, output %s", code, out)
	}
	for _, f := range files {
		path := filepath.Join(b.work, f)
		fi, err := os.Lstat(path)
		if err != nil {
			t.Errorf("%s is gone: %v", f, err)
			continue
		}
		if data, _ := os.ReadFile(
			path,
		); string(data) != "old" || fi.Mode() != 0o644 ||
			time.Since(fi.ModTime()) > time.Hour {
			t.Errorf("%s is now %v %v %q", f, fi.Mode(), fi.ModTime(), data)
		}
	}
}

func TestTheNoteNamesWhatWasRefused(t *testing.T) {
	b := newBox(t)
	_, out := b.run(`echo x > .envrc; mkdir -p a/.vscode; echo x > plain`)
	if !strings.HasSuffix(out, `hold secrets: ".envrc", "a/.vscode"`+"\n") {
		t.Errorf("got %q", out)
	}
	if _, out := b.run(`echo x > plain`); out != "" {
		t.Errorf("got %q", out)
	}
}

// A folder cannot be renamed to a name under which its contents would be protected.
func TestFoldersBecomeNoProtectedOnes(t *testing.T) {
	b := newBox(t)
	b.write("sub/.github/workflows/x.yml", "old")
	b.run(
		`mkdir -p gh/workflows; echo evil > gh/workflows/x.yml; mv gh .github; mv sub/.github .
mkdir .github; mv gh/workflows .github/; mkdir c; echo > c/config.toml; mv c .cargo
mkdir e; python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b"gh", -100, b".github", 2)'`,
	)
	for _, name := range []string{".github/workflows", ".cargo/config.toml"} {
		if _, err := os.Lstat(filepath.Join(b.work, name)); err == nil {
			t.Errorf("%s exists", name)
		}
	}
}

func TestSecretsCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	secrets := []string{
		".env",
		".env.local",
		"deep/down/server.pem",
		"a.key",
		"id_rsa",
		".netrc",
		"b.PFX",
		"prod.env",
		"config/secrets.yml",
		"credentials.json",
		"service-account-1.json",
		"a.jks",
	}
	for _, s := range secrets {
		b.write(s, "canary\n")
	}
	for _, s := range []string{".env.example", ".env.sample", ".env.template"} {
		b.write(s, "shown\n")
	}
	b.write("real.txt", "canary\n")
	if err := os.Symlink("real.txt", filepath.Join(b.work, "id_ed25519")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(b.work, ".env"), filepath.Join(b.work, "plain")); err != nil {
		t.Fatal(err)
	}
	before := b.tree()
	for _, write := range []bool{false, true} {
		b.spec.Write = write
		_, out := b.run(
			`cat .env* */*/* * id_rsa real.txt plain; grep -r canary .
ln .env x; cat x; cp .env y; cat y; mv .env z; cat z
mv deep d2; cat d2/down/*; mv d2 deep
exec 9<> .env && cat <&9; exec 9<> plain && cat <&9; dd if=a.key; tar c . | strings
python3 -c 'print(open("a.key","r+").read())'; chmod 644 .env; cat .env; rm -f x y z`,
		)
		if strings.Contains(out, "canary") {
			t.Errorf("write %v: a secret was read:\n%s", write, out)
		}
		if strings.Count(out, "shown\n") < 3 {
			t.Errorf("write %v: the templates cannot be read:\n%s", write, out)
		}
	}
	if after := b.tree(); after != before {
		t.Errorf("the workspace was\n%s\nand is\n%s", before, after)
	}
	b.want(
		`echo mine > new.pem; cat new.pem; echo more >> new.pem; cat new.pem; rm -f new.pem`,
		"mine\nmine\nmore\n",
	)
}

func TestHomeIsEmpty(t *testing.T) {
	b := newBox(t)
	for _, f := range []string{".ssh/id_rsa", ".aws/credentials", "notes.txt",
		".cargo/credentials.toml", ".cargo/bin/tool", ".gitconfig"} {
		path := filepath.Join(b.home, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("canary"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.spec.Readable = append(b.spec.Readable, HomeReadable(b.home, "")...)
	b.want(
		`cd ~; find . -type f | sort; echo x > ~/new; cat ~/new; echo x > ~/.gitconfig |`+
			`| echo kept`,
		"./.cargo/bin/tool\n./.gitconfig\nx\nbash: line 1: "+b.home+
			"/.gitconfig: Read-only file system\nkept\n",
	)
	if _, err := os.Lstat(b.home + "/new"); err == nil {
		t.Error("a file of the private home is in the real one")
	}
}

func TestReadOnlyWritesNowhere(t *testing.T) {
	b := newBox(t)
	b.spec.Write = false
	b.write("file", "old")
	before := b.tree()
	for _, w := range []string{`echo x > file`, `touch new`, `rm file`, `mkdir d`, `mv file f2`,
		`chmod 777 file`, `ln file hard`, `touch /var/tmp/x`, `echo x > /etc/x`, `echo x > /usr/x`,
		`mknod /tmp/disk b 8 0`,
		`echo x > /proc/sys/kernel/hostname`, `echo h > /proc/sysrq-trigger`,
		`echo x > /sys/kernel/x`, `hostname x`, `chmod 4777 /bin/ls`,
		`touch -d 2001-01-01 /etc/hostname`, `mount -o remount,rw /`, `chroot / true`,
		`unshare -Ur true`, `unshare -Urm mount -o remount,rw,bind /`, `nsenter -t 1 -m true`} {
		if code, out := b.run(w); code == 0 {
			t.Errorf("%s succeeded: %s", w, out)
		}
	}
	b.want(
		`echo t > /tmp/t; echo s > /dev/shm/s; cat /tmp/t /dev/shm/s; echo n > /dev/null; ls -A `+
			`/run /dev/pts`,
		"t\ns\n/dev/pts:\nptmx\n\n/run:\n",
	)
	if b.tree() != before {
		t.Errorf("the workspace is\n%s\nand was\n%s", b.tree(), before)
	}
}

func TestNoPrivilegesAndNoOtherProcess(t *testing.T) {
	t.Parallel()
	victim := exec.Command("sleep", "600")
	victim.Env = []string{"VICTIM_TOKEN=canary"}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	b := newBox(t)
	for _, write := range []bool{false, true} {
		b.spec.Write = write
		_, out := b.run(`grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\t\n'`)
		zero := "0000000000000000"
		if want := "CapInh:" + zero + "CapPrm:" + zero + "CapEff:" + zero + "CapBnd:" + zero +
			"CapAmb:" + zero + "NoNewPrivs:1Seccomp:2"; out != want {
			t.Errorf("got %q, want %q", out, want)
		}
		_, out = b.run(
			`cat /proc/[0-9]*/environ | tr '\0' '\n' | grep VICTIM; cat /proc/1/task/*/environ ` +
				`/proc/1/mem; ls -l /proc/1/fd /proc/1/task/*/fd /proc/1/cwd; kill -9 1; kill ` +
				`-TERM 1; kill -HUP 1; sleep 0.05; echo alive`,
		)
		if strings.Contains(out, "canary") || !strings.HasSuffix(out, "alive\n") ||
			strings.Contains(out, " -> ") ||
			strings.Count(out, "Permission denied") < 4 {
			t.Errorf("got %q", out)
		}
	}
}

func TestSockets(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	sock, err := net.Listen("unix", b.work+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	for _, write := range []bool{false, true} {
		b.spec.Write = write
		for _, script := range []string{
			`exec 9<>/dev/tcp/127.0.0.1/` + port,
			`python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("s")'`,
			`python3 -c 'import socket; socket.socket(socket.AF_UNIX)'`,
			`python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'`,
			`python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); exit(l.syscall(425, 1, 0) < 0)'`,
			`python3 -c 'import fcntl, os; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b"x")'`,
		} {
			if code, out := b.run(script); code == 0 {
				t.Errorf("%s succeeded: %s", script, out)
			}
		}
		b.want(`python3 -c '
import socket
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); print("loopback")'`, "loopback\n")
	}
}

// TestNothingIsLeft checks that no mounts, files or processes remain after a command.
func TestNothingIsLeft(t *testing.T) {
	b := newBox(t)
	b.write("a", "a")
	mounts, _ := os.ReadFile("/proc/self/mounts")
	mark := fmt.Sprintf("6%d", os.Getpid())
	before := b.tree()
	start := time.Now()
	code, _ := b.run(
		`sleep ` + mark + ` & setsid -f sleep ` + mark +
			`; (setsid nohup sh -c "trap '' TERM; sleep ` + mark + `" &) ; exit 7`,
	)
	if code != 7 || time.Since(start) > 5*time.Second {
		t.Errorf("exit code %d after %v", code, time.Since(start))
	}
	if out, _ := exec.Command("pgrep", "-fa", "sleep "+mark).Output(); len(out) > 0 {
		t.Errorf("left behind: %s", out)
	}
	if b.tree() != before {
		t.Errorf("the workspace is\n%s", b.tree())
	}
	if now, _ := os.ReadFile("/proc/self/mounts"); string(now) != string(mounts) {
		t.Errorf("mounts are left:\n%s", now)
	}
	if code, _ := b.run(`kill -SEGV $$`); code != 128+11 {
		t.Errorf("exit code %d, want 139", code)
	}
	if code, out := b.run(`exec no-such-program`); code != 127 {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// A long-running command sees changes made by the editor while it runs, and its own changes are
// visible immediately.
func TestTheUserWorksMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("src", "one")
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.want(
			`cat src; echo up > ready; for i in $(seq 500); do test -e go && break; sleep 0.01; `+
				`done; cat src; (echo x > .envrc) 2>/dev/null; cat .envrc`,
			"onetwosaved by the editor"+"agent-lsp: the sandbox did not change files that can start programs or hold secrets: \".envrc\"\n",
		)
	}()
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, err := os.Stat(b.work + "/ready"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command did not create its file")
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.write("src.new", "two")
	if err := os.Rename(b.work+"/src.new", b.work+"/src"); err != nil {
		t.Fatal(err)
	}
	b.write(".envrc", "saved by the editor")
	b.write("go", "")
	<-done
	if data, _ := os.ReadFile(b.work + "/.envrc"); string(data) != "saved by the editor" {
		t.Errorf("got %q", data)
	}
}

func TestCachesArePrivate(t *testing.T) {
	b := newBox(t)
	cache := b.home + "/go/pkg/mod"
	for _, d := range []string{cache, b.home + "/layers"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(cache+"/shared", []byte("shared"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.spec.Caches = homeCaches(b.home)
	b.want(
		`cd ~/go/pkg/mod; cat shared; echo mine > new; echo changed > shared; cat new shared`,
		"sharedmine\nchanged\n",
	)
	b.want(`cd ~/go/pkg/mod; ls; cat shared`, "shared\nshared")
	b.spec.Layer = b.home + "/layers"
	b.want(`cd ~/go/pkg/mod; echo mine > new; rm shared`, "")
	b.want(`cd ~/go/pkg/mod; cat *; ls ~`, "mine\ngo\n")
	if got, err := os.ReadFile(cache + "/shared"); string(got) != "shared" {
		t.Errorf("the shared cache holds %q, %v", got, err)
	}
	if _, err := os.Lstat(cache + "/new"); err == nil {
		t.Error("the command wrote to the shared cache")
	}
	if err := RemoveLayer(b.spec.Layer); err != nil {
		t.Error(err)
	}
}
