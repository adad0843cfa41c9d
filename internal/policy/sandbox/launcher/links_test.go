//go:build linux && (amd64 || arm64)

package launcher

import (
	"net"
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

// A datagram socket of a pair could send to any Unix socket that has a name. Other pairs work.
func TestSocketPairsReachNoNamedSocket(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	listener, err := net.ListenPacket("unixgram", b.work+"/named")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, write := range []bool{false, true} {
		b.spec.Write = write
		for _, kind := range []string{"DGRAM", "RAW", "DGRAM | SOCK_NONBLOCK"} {
			if code, out := b.run(`python3 -c 'from socket import *
socketpair(AF_UNIX, SOCK_` + kind + `)[0].sendto(b"x", "named"); print("sent")'`); code == 0 {
				t.Errorf("%s: %s", kind, out)
			}
		}
		b.want(`python3 -c 'from socket import *
for kind in SOCK_STREAM, SOCK_SEQPACKET, SOCK_STREAM | SOCK_NONBLOCK:
    a, b = socketpair(AF_UNIX, kind); a.send(b"x"); print(b.recv(1))'`, "b'x'\nb'x'\nb'x'\n")
	}
}
