package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// task is an everyday task from testdata/attacks/everyday.txt.
type task struct {
	title, needs, before, command, output string
	reads                                 bool // runs without approval under the profile ask
	makes                                 []string
}

// readEveryday reads the project and the tasks. testdata/attacks/README.md describes the format.
func readEveryday(t *testing.T) (project map[string]string, tasks []*task) {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/attacks/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	project = map[string]string{}
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		word, rest, _ := strings.Cut(lines[i], " ")
		var now *task
		if len(tasks) > 0 {
			now = tasks[len(tasks)-1]
		}
		switch word {
		case "everyday":
			tasks = append(tasks, &task{title: rest})
		case "needs":
			now.needs = rest
		case "reads":
			now.reads = true
		case "before":
			now.before = rest
		case "run":
			now.command = rest
		case "makes":
			now.makes = append(now.makes, rest)
		case "file":
			project[rest], i = block(lines, i)
		case "output":
			now.output, i = block(lines, i)
		case "", "#", "project":
		default:
			t.Fatalf("line %d: %q is not a valid line", i+1, lines[i])
		}
	}
	return project, tasks
}

// block returns the lines between the line with the index at and the next line "end". It also
// returns the index of the "end" line.
func block(lines []string, at int) (string, int) {
	end := at + 1
	for lines[end] != "end" {
		end++
	}
	return strings.Join(lines[at+1:end], "\n") + "\n", end
}

// TestEverydayCommands runs everyday commands as a session does: with the policy, in the sandbox
// that the session would get, and with the toolchains and caches of this machine.
func TestEverydayCommands(t *testing.T) {
	box := boxes(t)[0]
	if box.Kind != sandbox.Own {
		t.Fatalf("the best sandbox is %s", box.Kind)
	}
	project, tasks := readEveryday(t)
	if len(tasks) < 30 {
		t.Errorf("only %d tasks", len(tasks))
	}
	base, err := os.MkdirTemp("/var/tmp", "agent-lsp-everyday-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(home + "/.cache/go-build")
	cached := err == nil // without a build cache, every go command would build the standard library
	for i, c := range tasks {
		if _, err := exec.LookPath(c.needs); c.needs != "" &&
			(err != nil || c.needs == "go" && !cached) {
			t.Logf("%s: %s is not installed", c.title, c.needs)
			continue
		}
		t.Run(strings.ReplaceAll(c.title, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := &workplace{
				t:   t,
				r:   newRunner(t),
				dir: filepath.Join(base, string(rune('a'+i/26))+string(rune('a'+i%26))),
			}
			w.make(project)
			w.do(box, c)
		})
	}
}

// workplace is a repository that has a commit and an uncommitted change.
type workplace struct {
	t   *testing.T
	r   *Runner
	dir string
}

func (w *workplace) make(project map[string]string) {
	for name, content := range project {
		path := filepath.Join(w.dir, "work", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.outside(
		`git init -q -b main && git add . && echo // changed >> main.go &&
			git -c user.name=u -c user.email=u@example.com commit -qm first`,
	)
}

// outside runs a script without a sandbox.
func (w *workplace) outside(script string) {
	w.t.Helper()
	c := exec.Command("bash", "-c", script)
	c.Dir = w.dir + "/work"
	if out, err := c.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v %s", script, err, out)
	}
}

func (w *workplace) do(box sandbox.Support, c *task) {
	if c.before != "" {
		w.outside(c.before)
	}
	work := w.dir + "/work"
	e, err := policy.NewEngine(policy.Options{Sandbox: func() sandbox.Support { return box }})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, profile := range []policy.Profile{policy.ProfileAsk, policy.ProfileWorkspace} {
		e.Configure("s", policy.Settings{Profile: profile, Roots: []string{work}})
		d, err := e.Approve(
			w.t.Context(),
			tool.ApprovalRequest{SessionID: "s", Tool: tool.Spec{Name: "bash"},
				Subject: &tool.Subject{Kind: tool.SubjectCommand, Command: c.command, Cwd: work}},
		)
		if want := c.reads || profile == policy.ProfileWorkspace; err != nil || d.Allow != want ||
			d.Unboxed {
			w.t.Errorf("profile %s: got %+v, %v", profile, d, err)
		}
	}
	inherited := policy.Environment{Own: os.Environ(), Roots: []string{work}}
	env := inherited.Child()
	if c.reads {
		env = inherited.Reading(os.Getenv("HOME"), "")
	}
	plan, err := e.SandboxPlan(
		"s",
		c.command,
		policy.Folders{Tmp: w.dir + "/tmp", Layer: w.dir + "/layer"},
		policy.Granted{},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	res := run(
		w.t,
		w.r,
		Command{Script: c.command, Dir: work, Env: env, Sandbox: plan},
	)
	if out := string(res.Head); res.ExitCode != 0 || out != c.output {
		w.t.Errorf("%s: exit code %d, output %q, want %q", c.command, res.ExitCode, out, c.output)
	}
	for _, f := range c.makes {
		if _, err := os.Stat(filepath.Join(work, f)); err != nil {
			w.t.Error(err)
		}
	}
}
