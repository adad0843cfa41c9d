//go:build unix

package policy

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownEnv is an environment with variables of each kind. R stands for the workspace.
const ownEnv = `PATH=/usr/bin:.:bin::R/bin:/bin:R HOME=/home/u LANG=C LC_ALL=C TERM=xterm TZ=UTC
GOPATH=/go EDITOR=vi BASH_ENV=/tmp/x ENV=/tmp/x BASH_FUNC_ls%%=() SHELLOPTS=xtrace LESSOPEN=|x
RIPGREP_CONFIG_PATH=rc GOFLAGS=-toolexec=x NODE_OPTIONS=-rx LD_PRELOAD=x.so GIT_SSH_COMMAND=x
PYTHONSTARTUP=x HTTP_PROXY=http://u:p@h XDG_RUNTIME_DIR=/run/user/1 GITHUB_TOKEN=t
AWS_SECRET_ACCESS_KEY=s db_password=p SSH_AUTH_SOCK=/run/agent XDG_SESSION_TOKEN=x
OPENAI_API_KEY=k USER=u SHELL=/bin/sh TMPDIR=/tmp/u npm_config_cache=/c AGENT_LSP_CONFIG=/c
MY_FLAG=1 TERM=dumb`

func TestChildEnv(t *testing.T) {
	root := t.TempDir()
	own := strings.Fields(strings.ReplaceAll(ownEnv, "R/", root+"/"))
	own[0] = strings.ReplaceAll(own[0], ":R", ":"+root)
	before := slices.Clone(own)
	e := Environment{
		Own:   own,
		Roots: []string{root},
		Pass:  []string{"SSH_AUTH_SOCK", "MY_FLAG", "unset"},
	}
	for _, c := range []struct {
		name, want string
		got        []string
	}{
		{"child", "GOPATH=/go HOME=/home/u LANG=C LC_ALL=C MY_FLAG=1 PATH=/usr/bin:/bin SHELL=/bin/sh SSH_AUTH_SOCK=/run/agent " +
			"TERM=dumb TZ=UTC USER=u XDG_RUNTIME_DIR=/run/user/1 npm_config_cache=/c", e.Child()},
		{"reading", "HOME=/s/home LANG=C LC_ALL=C MY_FLAG=1 PATH=/usr/bin:/bin SSH_AUTH_SOCK=/run/agent TERM=dumb TMPDIR=/s/tmp TZ=UTC",
			e.Reading("/s/home", "/s/tmp")},
	} {
		slices.Sort(c.got)
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	if !slices.Equal(own, before) {
		t.Error("the daemon's own environment was changed")
	}
}

// Child removes each entry of PATH that leads into a root, even if the entry or the root is a link.
// It keeps an entry that does not exist.
func TestLinksInPathLeadIntoNoRoot(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"ws/bin", "tools"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"direct": "ws/bin", "through": "ws", "root": "ws"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Skip("this system does not support symbolic links: ", err)
		}
	}
	var path []string
	for _, entry := range []string{"direct", "tools", "through/bin", "missing", "ws/bin"} {
		path = append(path, filepath.Join(dir, entry))
	}
	for _, root := range []string{"ws", "root"} {
		e := Environment{
			Own:   []string{"PATH=" + strings.Join(path, string(filepath.ListSeparator))},
			Roots: []string{filepath.Join(dir, root)},
		}
		want := []string{"PATH=" + path[1] + string(filepath.ListSeparator) + path[3]}
		if got := e.Child(); !slices.Equal(got, want) {
			t.Errorf("root %s: %q, want %q", root, got, want)
		}
	}
}

// TestNothingRunsFromTheEnvironment starts a real shell in a folder that contains a program named
// ls. Without the filter, the daemon's own environment would make the shell run three programs that
// the command does not name.
func TestNothingRunsFromTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("ls", "#!/bin/sh\n/usr/bin/touch "+dir+"/canary-path\n")
	start := write("start.sh", "/usr/bin/touch "+dir+"/canary-start\n")
	env := []string{
		"PATH=" + dir + ":" + os.Getenv("PATH"),
		"BASH_ENV=" + start,
		"BASH_FUNC_cat%%=() { /usr/bin/touch " + dir + "/canary-function; }",
	}
	run := func(env []string) (canaries []string) {
		cmd := exec.Command("bash", "-c", "ls; cat /dev/null")
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		canaries, _ = filepath.Glob(filepath.Join(dir, "canary-*"))
		return canaries
	}
	safe := Environment{Own: env, Roots: []string{dir}}
	// With an empty PATH, bash would run programs of its folder.
	last := Environment{Own: []string{"PATH=" + dir + ":.:bin"}, Roots: []string{dir}}
	none := Environment{Own: []string{"PATH="}}
	for _, env := range [][]string{
		safe.Child(), safe.Reading(dir, dir), last.Child(), none.Reading(dir, dir),
	} {
		if found := run(env); len(found) > 0 {
			t.Errorf("ran %q", found)
		}
	}
	if found := run(env); len(found) != 3 {
		t.Errorf("with the whole environment only %q ran: the test checks too little", found)
	}
}

// If the workspace is the root of the file system, programs are still found.
func TestSearchPathOfTheWholeSystem(t *testing.T) {
	e := Environment{Own: []string{"PATH=/usr/bin:bin:/bin"}, Roots: []string{"/"}}
	if got := e.Child(); !slices.Equal(got, []string{"PATH=/usr/bin:/bin"}) {
		t.Errorf("got %q", got)
	}
}

// After CleanPath, the daemon itself finds no program in the workspace.
func TestCleanPath(t *testing.T) {
	outside := t.TempDir()
	root := filepath.Join(t.TempDir(), "root")
	link := filepath.Join(outside, "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "bin"), 0o755),
		os.Symlink(filepath.Join(root, "bin"), link),
		os.WriteFile(filepath.Join(root, "bin", "bash"), nil, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", strings.Join([]string{filepath.Join(root, "bin"), link, "bin", "", outside},
		string(filepath.ListSeparator)))
	Environment{Roots: []string{root}}.CleanPath()
	if got := os.Getenv("PATH"); got != outside {
		t.Errorf("the PATH is %q", got)
	}
	if found, err := exec.LookPath("bash"); err == nil {
		t.Errorf("found %s", found)
	}
}
