//go:build unix

package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestChildEnv(t *testing.T) {
	env := []string{
		"PATH=/usr/bin:.:bin::/bin", "HOME=/home/u", "LANG=C", "LC_ALL=C", "GOPATH=/go", "EDITOR=vi",
		"BASH_ENV=/tmp/x", "ENV=/tmp/x", "BASH_FUNC_ls%%=() { touch x; }", "SHELLOPTS=xtrace", "LESSOPEN=|x %s", "RIPGREP_CONFIG_PATH=rc",
		"GITHUB_TOKEN=t", "AWS_SECRET_ACCESS_KEY=s", "db_password=p", "SSH_AUTH_SOCK=/run/agent", "GOOGLE_APPLICATION_CREDENTIALS=/f", "OPENAI_API_KEY=k",
	}
	before := slices.Clone(env)
	want := []string{"PATH=/usr/bin:/bin", "HOME=/home/u", "LANG=C", "LC_ALL=C", "GOPATH=/go", "EDITOR=vi"}
	if got := ChildEnv(env); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(env, before) {
		t.Error("the argument was changed")
	}
}

// TestNothingRunsFromTheEnvironment starts a real shell in a folder with a program called ls. The
// daemon's own environment makes it run three things that the command does not name.
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
	env := []string{"PATH=.:" + os.Getenv("PATH"), "BASH_ENV=" + start, "BASH_FUNC_cat%%=() { /usr/bin/touch " + dir + "/canary-function; }"}
	run := func(env []string) (canaries []string) {
		cmd := exec.Command("bash", "-c", "ls; cat /dev/null")
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		canaries, _ = filepath.Glob(filepath.Join(dir, "canary-*"))
		return canaries
	}
	if found := run(ChildEnv(env)); len(found) > 0 {
		t.Errorf("ran %q", found)
	}
	if found := run(env); len(found) != 3 {
		t.Errorf("with the whole environment only %q ran: the test tests too little", found)
	}
}
