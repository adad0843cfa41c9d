//go:build linux && (amd64 || arm64)

package launcher

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// raceSeconds is the number of seconds for which the commands of a test compete.
const raceSeconds = "3"

// compete runs Python scripts at the same time, each in its own sandbox, and returns their outputs.
// The scripts stop at the time in their variable end, or when a file named won exists.
func (b *box) compete(scripts ...string) string {
	b.t.Helper()
	const head = `import os, time
end = time.time() + ` + raceSeconds + `
going = lambda: time.time() < end and not os.path.exists("won")
`
	outputs := make([]string, len(scripts))
	var all sync.WaitGroup
	for i, s := range scripts {
		all.Go(func() { _, outputs[i] = b.run("python3 -c '" + head + s + "'") })
	}
	all.Wait()
	return strings.Join(outputs, "\n")
}

// One command moves a folder to a name under which some contents are protected, while another
// command creates these contents. No protected file may be created.
func TestCommandsTogetherCreateNoProtectedFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ folder, name string }{
		{".cargo", "config.toml"},
		{".github", "workflows"},
	} {
		b := newBox(t)
		b.spec.Lock = filepath.Join(b.home, "lock")
		made := `
def made():
    try: os.rename("` + c.folder + `/` + c.name + `", "won")
    except OSError: pass
`
		out := b.compete(`
while going():
    try: os.rename("free", "`+c.folder+`"); time.sleep(0.0002)
    except OSError: pass
    if os.path.exists("`+c.folder+`/`+c.name+`"):
        time.sleep(0.05)
        if os.path.exists("`+c.folder+`/`+c.name+`"): open("won", "w"); break
    try: os.rename("`+c.folder+`", "free")
    except OSError: pass
`, made+`
while going():
    for d in ["mkdir", "file", "link"]:
        try:
            os.makedirs("free", exist_ok=True)
            if d == "mkdir": os.mkdir("free/`+c.name+`")
            if d == "file": os.close(os.open("free/`+c.name+`", os.O_CREAT | os.O_WRONLY))
            if d == "link": os.symlink("x", "free/`+c.name+`")
        except OSError: continue
        try: os.remove("free/`+c.name+`")
        except OSError:
            try: os.rmdir("free/`+c.name+`")
            except OSError: pass
`)
		if _, err := os.Lstat(filepath.Join(b.work, c.folder, c.name)); err == nil {
			t.Errorf("two commands made %s/%s: %s", c.folder, c.name, out)
		}
	}
}

// One command moves the folder of a secret file while other commands start. None of them may read
// the file, although its path changes while the file is being masked.
func TestCommandsTogetherShowNoSecret(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.spec.Lock = filepath.Join(b.home, "lock")
	b.write("conf/.env", "CANARY")
	for i := range 2000 { // the search for secrets visits these files after .env
		b.write("z/"+strconv.Itoa(i), "")
	}
	moving := make(chan struct{})
	go func() {
		defer close(moving)
		b.run(`python3 -c '
import os
while not os.path.exists("won"):
    try: os.rename("conf", "conf2"); os.rename("conf2", "conf")
    except OSError: pass
'`)
	}()
	for range 20 {
		_, out := b.run("cat conf/.env conf2/.env conf/.env conf2/.env; true")
		if strings.Contains(out, "CANARY") {
			t.Errorf("a command read the secret file: %s", out)
			break
		}
	}
	b.write("won", "")
	<-moving
}
