package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shortWorkspace creates a folder with the files that the short-list tests name, and a second
// folder outside it.
func shortWorkspace(t *testing.T) (work, outside string) {
	t.Helper()
	base := t.TempDir()
	work, outside = filepath.Join(base, "work"), filepath.Join(base, "outside")
	for _, d := range []string{work, outside, filepath.Join(work, "src"), outside + "/deep"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{work + "/a.txt", work + "/b c.txt", work + "/src/m.go", work +
		"/.env", work + "/id_rsa", outside + "/o.txt", outside + "/a.txt"} {
		if err := os.WriteFile(f, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": outside, "out.txt": outside + "/o.txt",
		"env.txt": work + "/.env", "in": work + "/src", "deep": outside + "/deep"} {
		if err := os.Symlink(to, filepath.Join(work, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(work+"/.env", work+"/copy.txt"); err != nil {
		t.Fatal(err)
	}
	return work, outside
}

func TestShortList(t *testing.T) {
	work, outside := shortWorkspace(t)
	for _, script := range []string{
		"ls", "ls -la", "ls -la src", "ls in", "pwd", "pwd -P", "cat a.txt",
		"cat 'b c.txt' \"a.txt\"", "head -n 20 a.txt", "head -20 a.txt", "tail -n +2 src/m.go",
		"wc -l a.txt src/m.go", "stat src", "file a.txt", "grep -n x a.txt",
		"grep -A 3 'a(b)*' a.txt", "rg -n '$x' a.txt", "cat a.txt | grep x | wc -l",
		"pwd && ls; cat a.txt || pwd",
		"cat " + work + "/a.txt", "cat ./src/../a.txt", "cat in/../a.txt",
	} {
		if !shortListed(script, work, []string{work}) {
			t.Errorf("%q asks", script)
		}
	}
	for _, script := range []string{
		"", "git status", "touch x", "make", "/bin/ls", "./ls", "'l's -la; touch x", "ls; touch x",
		"ls | sh", "ls |& cat", "ls & pwd", "! ls", "(ls)", "{ ls; }", "if ls; then ls; fi",
		"X=1 ls", "X=1", "PATH=. ls", "ls > f", "ls >> f", "cat < a.txt", "ls 2>/dev/null",
		"cat <<< x", "ls $(touch x)", "ls `touch x`", "ls $x", "ls ${x}", "ls \"$x\"", "ls *",
		"ls ?", "cat {a,b}.txt",
		"cat ~/a.txt", "cat $'a.txt'", "ls \\-la", "l\\s", "cat <(ls)", "time ls", "env ls",
		"command ls", "exec ls", "eval ls", "xargs cat", "find . -name x", "less a.txt",
		"sort a.txt", "echo x", "printf %n PATH",
		"cat .env", "cat ./.env", "cat id_rsa", "cat env.txt", "cat copy.txt", "grep x .env",
		"rg x .env", "cat out.txt", "cat ../outside/o.txt", "ls out", "ls ..", "ls /",
		"cat /etc/passwd", "cat /dev/stdin", "cat /proc/self/environ",
		"cat deep/../a.txt", "ls deep/..", "cat " + work + "/deep/../a.txt",
		"cat src/../deep/../a.txt",
		"cat " + outside + "/o.txt", "cat missing", "cat src", "tail -f a.txt", "tail -F a.txt",
		"tail --follow a.txt", "head --bytes=1 a.txt", "head -n", "head -n x a.txt",
		"head -n -f a.txt",
		"file -C", "file -m a.txt", "file -f a.txt", "file -z a.txt", "rg x", "rg --pre sh x a.txt",
		"rg --pre=sh x a.txt", "rg --hostname-bin=sh x a.txt", "rg -z x a.txt", "rg -f .env a.txt",
		"rg --files", "rg -x", "grep -r x .", "grep -rn x src", "grep -f .env a.txt",
		"grep -e x .env",
		"ls --hyperlink", "ls -la --color=always", "stat -c %n a.txt", "wc --files0-from=a.txt",
		"pwd a.txt", "cat --help", "cat -- -x", "ls -Z", "ls \x1b", "ls #\u202e", "cat 'a.txt",
		"f() { ls; }; f", "ls() { touch x; }", "alias ls=rm",
	} {
		if shortListed(script, work, []string{work}) {
			t.Errorf("%q runs without a question", script)
		}
	}
	if shortListed("ls", outside, []string{work}) {
		t.Error("a command in a folder outside the roots runs without a question")
	}
	if shortListed("ls", "", []string{work}) || shortListed("ls", work, nil) {
		t.Error("a command without a known folder or root runs without a question")
	}
	if shortListed("ls "+strings.Repeat("src ", 40_000), work, []string{work}) {
		t.Error("a command of unbounded length runs without a question")
	}
}
