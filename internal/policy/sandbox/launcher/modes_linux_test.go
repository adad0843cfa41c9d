//go:build linux && (amd64 || arm64)

package launcher

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command cannot set the setuid or setgid bit of a file in the workspace. Otherwise, the file
// would run as its owner or group when another user starts it.
func TestNoFileRunsAsItsOwner(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("f", "")
	_, out := b.run(`chmod 4755 f; chmod u+s f; cp f g; chmod 755 g && echo other modes work
python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
for flags in [os.O_RDONLY, os.O_RDWR]:
    try: os.fchmod(os.open("f", flags), 0o4755)
    except OSError: pass
try: os.chmod("/proc/self/fd/%d" % os.open("f", os.O_RDWR), 0o4755)
except OSError: pass
libc.syscall(452, -100, b"f", 0o4755, 0)
os.umask(0)
os.open("h", os.O_CREAT | os.O_RDWR, 0o4755)
libc.syscall(259 if os.uname().machine == "x86_64" else 33, -100, b"i", 0o104755, 0)
'
for n in j k l; do touch $n; done; chmod 2755 j; chmod g+s k; mkdir d; chmod g+s d
python3 -c '
import os
os.umask(0)
l = os.open("l", os.O_RDWR)
for name in [l, "/proc/self/fd/%d" % l]:
    try: os.chmod(name, 0o2755)
    except OSError: pass
os.open("m", os.O_CREAT | os.O_RDWR, 0o2755)
os.mknod("n", 0o102755)
'`)
	for _, name := range strings.Split("f g h i j k l m n", " ") {
		fi, err := os.Lstat(filepath.Join(b.work, name))
		if err != nil || fi.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s: %v, %v; %s", name, fi, err, out)
		}
	}
	if fi, err := os.Lstat(filepath.Join(b.work, "g")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("an ordinary mode was not set: %v; %s", err, out)
	}
	if fi, err := os.Lstat(filepath.Join(b.work, "d")); err != nil || fi.Mode()&fs.ModeSetgid == 0 {
		t.Errorf("a folder's group bit was not set: %v; %s", err, out)
	}
}

// A command must not change the mode of a device. The sandbox shares its devices with the machine,
// and root owns them. Without protection, a command that runs as root could change their modes for
// the whole machine.
func TestDevicesKeepTheirModes(t *testing.T) {
	b := newBox(t)
	before, err := os.Stat("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	code, out := b.run("chmod 0600 /dev/full; touch -d 2001-01-01 /dev/full; echo x > /dev/null")
	after, err := os.Stat("/dev/full")
	if err != nil || code != 0 || after.Mode() != before.Mode() ||
		!after.ModTime().Equal(before.ModTime()) {
		_ = os.Chmod("/dev/full", before.Mode().Perm())
		t.Errorf("exit code %d, %v %v, before %v: %s", code, err, after, before, out)
	}
}
