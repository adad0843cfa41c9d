package internal_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// patience limits the time of each command that a page names.
const patience = 10 * time.Minute

// harmless lists the commands that the test actually runs, because they change nothing outside an
// empty home folder.
var harmless = map[string]bool{"version": true, "help": true, "schema": true, "doctor": true,
	"demo": true, "run": true, "completion": true, "bundle": true, "trust": true}

// otherwise lists, by page, the commands of other programs that a separate test runs.
var otherwise = map[string]map[string]string{
	"docs/reference/hooks.md": {"tail": "TestHooksAreDocumented", "go": "TestHooksAreDocumented"},
	"editors/neovim/README.md": {"git": "docs_spec.lua", "mkdir": "docs_spec.lua",
		"ln": "docs_spec.lua"},
}

// builtins lists shell built-ins, which are not searched for as programs.
var builtins = map[string]bool{"source": true, "exit": true, "echo": true, "cd": true}

// commandsAtOnce is the number of commands that run concurrently.
const commandsAtOnce = 4

func TestMain(m *testing.M) {
	testspeed.Parallel(commandsAtOnce)
	os.Exit(testspeed.Run(m))
}

// Every command that a page shows exists, with all its flags. The test runs the harmless commands.
func TestCommandsInDocs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range pages() {
		var lines []string
		for _, b := range p.blocks("sh", "bash", "console") {
			lines = append(lines, strings.Split(b.text, "\n")...)
		}
		checkKnown(t, p.path, lines)
		for _, code := range inlineCode.FindAllString(p.prose, -1) {
			lines = append(lines, strings.Trim(code, "`"))
		}
		for _, line := range lines {
			for _, args := range calls(line) {
				if key := strings.Join(args, "\x00"); !seen[key] {
					seen[key] = true
					t.Run(strings.Join(args, " "), func(t *testing.T) {
						t.Parallel()
						checkCall(t, p.path, args)
					})
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d commands were found", len(seen))
	}
}

// checkKnown requires that this test or another one checks each command in a page's code blocks.
func checkKnown(t *testing.T, from string, lines []string) {
	t.Helper()
	for _, line := range lines {
		for _, args := range calls(line) {
			name := args[0]
			ours := name == "agent-lsp" || name == "bin/agent-lsp" || name == "go" ||
				name == "make" || strings.HasPrefix(name, "scripts/") ||
				strings.HasPrefix(name, "editors/")
			if !ours && !builtins[name] && otherwise[from][name] == "" {
				t.Errorf("%s: no test runs %s", from, strings.Join(args, " "))
			}
		}
	}
}

// nothing expands variables and command substitutions to an empty string.
var nothing = &expand.Config{
	Env:       expand.FuncEnviron(func(string) string { return "" }),
	CmdSubst:  func(io.Writer, *syntax.CmdSubst) error { return nil },
	ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", nil },
}

// calls returns the simple commands in a shell line, with their words expanded. It returns none if
// the line is not valid shell code.
func calls(line string) (found [][]string) {
	f, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var args []string
		for _, w := range call.Args {
			s, err := expand.Literal(nothing, w)
			if err != nil {
				return true
			}
			args = append(args, s)
		}
		found = append(found, args)
		return true
	})
	return found
}

func checkCall(t *testing.T, from string, args []string) {
	t.Helper()
	switch name := args[0]; {
	case name == "agent-lsp" || name == "bin/agent-lsp":
		checkProgram(t, from, args[1:])
	case name == "go" && len(args) > 2 && args[1] == "run" && args[2] == "./cmd/agent-lsp":
		checkProgram(t, from, args[3:])
	case name == "go" && len(args) > 1 && args[1] == "test":
		checkGoTest(t, from, args[2:])
	case name == "make":
		checkMake(t, from, args[1:])
	case strings.HasPrefix(name, "scripts/") || strings.HasPrefix(name, "editors/"):
		if _, err := os.Stat(filepath.Join(top, name)); err != nil {
			t.Errorf("%s: there is no script %s", from, name)
		}
	}
}

func checkMake(t *testing.T, from string, args []string) {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if len(args) > 1 && args[0] == "-C" {
		args = args[2:]
	}
	for _, target := range args {
		if !strings.Contains(target, "=") &&
			!regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(target)+`:`).Match(makefile) {
			t.Errorf("%s: make has no target %s", from, target)
		}
	}
}

// checkGoTest checks that the packages and tests named in a go test command exist.
func checkGoTest(t *testing.T, from string, args []string) {
	t.Helper()
	for i, a := range args {
		if strings.HasPrefix(a, "./") {
			if _, err := os.Stat(filepath.Join(top, strings.TrimSuffix(a, "..."))); err != nil {
				t.Errorf("%s: go test %s: no such package", from, a)
			}
		}
		if i > 0 && (args[i-1] == "-run" || args[i-1] == "-bench" || args[i-1] == "-fuzz") {
			checkPattern(t, from, a)
		}
	}
}

func checkPattern(t *testing.T, from, pattern string) {
	t.Helper()
	first, _, _ := strings.Cut(pattern, "/")
	re, err := regexp.Compile(first)
	if err != nil {
		t.Errorf("%s: %v", from, err)
		return
	}
	for name := range testFunctions(t) {
		if re.MatchString(name) {
			return
		}
	}
	if pattern != "^$" && !regexp.MustCompile(`^[A-Z]+$`).MatchString(pattern) {
		t.Errorf("%s: no test matches %s", from, pattern)
	}
}

// checkProgram checks that the help of the program lists the subcommand and its flags. It runs the
// command if it is harmless.
func checkProgram(t *testing.T, from string, args []string) {
	t.Helper()
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if name == "..." || name == "…" {
		return
	}
	home := t.TempDir()
	overview := runProgram(t, home, 0, "help")
	if !regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(name) + `( |$)`).MatchString(overview) {
		t.Errorf("%s: agent-lsp has no command %s", from, name)
		return
	}
	help := runProgram(t, home, 0, "help", name)
	for _, a := range args {
		flag, _, _ := strings.Cut(a, "=")
		if strings.HasPrefix(a, "-") &&
			!strings.Contains(help, "  --"+strings.TrimLeft(flag, "-")+" ") {
			t.Errorf("%s: agent-lsp %s has no flag %s", from, name, a)
			return
		}
	}
	if name == "run" && !slices.ContainsFunc(args,
		func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		return // the user has to add a prompt
	}
	if harmless[name] || name == "sessions" && (len(args) == 0 || args[0] == "list") {
		runProgram(t, home, 0, append([]string{name}, args...)...)
	}
}

// runProgram runs the program in an empty home folder with a scripted model, and returns its
// output.
func runProgram(t *testing.T, home string, want int, args ...string) string {
	t.Helper()
	bin := rpctest.Program(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir, cmd.Env = home, homeEnv(t, home)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Errorf("agent-lsp %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want,
			out.String())
	}
	return out.String()
}

// homeEnv returns the environment of a new user, who has an empty home folder and no key. The model
// is scripted.
func homeEnv(t *testing.T, home string) []string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "model.jsonl")
	if err := os.WriteFile(script, []byte(`{"text":"Hello."}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "AGENT_LSP_SCRIPT=" + script}
	for _, name := range []string{"PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LANG"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
