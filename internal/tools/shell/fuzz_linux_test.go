package shell

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// laboratory runs generated commands as sessions do, and detects the effects of those that run
// without approval.
type laboratory struct {
	t       testing.TB
	grammar *grammar
	r       *Runner
	kinds   []sandbox.Support // includes None
	victim  int
	home    string
	// hidden removes a part of a command before the policy sees the command. A test uses it to
	// plant a hole in the policy.
	hidden *strings.Replacer
	// open makes a folder outside the workspace writable. A test uses it to plant a hole in the
	// sandbox.
	open  bool
	model *scene // scene that the policy inspects, in which nothing runs
	git   string // path of a repository that scenes copy
	ran   atomic.Int32
}

func newLaboratory(t testing.TB) *laboratory {
	home := attackHome(t)
	l := &laboratory{
		t:       t,
		grammar: readGrammar(t),
		r:       newRunner(t),
		kinds:   append(boxes(t), sandbox.Support{Kind: sandbox.None, Why: "it is a test"}),
		victim:  startVictim(t),
		home:    home,
		hidden:  strings.NewReplacer(),
	}
	l.model = l.scene()
	t.Cleanup(l.model.close)
	return l
}

// experiment is one generated command with its sandbox and profile.
type experiment struct {
	kind    sandbox.Support
	profile policy.Profile
	command string
}

func (l *laboratory) experiment(data []byte) experiment {
	g := &generator{grammar: l.grammar, data: data}
	kind := l.kinds[g.pick(len(l.kinds))]
	profiles := []policy.Profile{policy.ProfileAsk, policy.ProfileReadOnly, policy.ProfileWorkspace}
	return experiment{kind: kind, profile: profiles[g.pick(len(profiles))], command: g.command()}
}

// scene creates the workspace of an experiment and the folders around it.
func (l *laboratory) scene() *scene {
	a := &attack{setup: []setup{
		{"symlink", "l", "OUT"}, {"symlink", "f", "OUT/file"}, {"symlink", "secret-link", ".env"},
	}}
	s := newScene(l.t, a, l.victim, l.home)
	s.watchesHome = true
	if l.git == "" {
		s.repository()
		l.git = l.t.TempDir()
		s.must(os.CopyFS(l.git, os.DirFS(s.work+"/.git")))
		return s
	}
	s.must(os.CopyFS(s.work+"/.git", os.DirFS(l.git)))
	s.write(s.work+"/src.txt", "one\nthree\n")
	return s
}

// policy returns the policy for an experiment in a scene.
func (l *laboratory) policy(x experiment, s *scene) *policy.Engine {
	e, err := policy.NewEngine(policy.Options{Sandbox: func() sandbox.Support { return x.kind }})
	s.must(err)
	settings := policy.Settings{Profile: x.profile, Roots: []string{s.work}}
	if l.open {
		settings.Writable = []string{s.out}
	}
	e.Configure("s", settings)
	return e
}

// unasked reports whether the command in a scene runs without approval.
func (l *laboratory) unasked(x experiment, s *scene) bool {
	d, err := l.policy(x, s).Approve(context.Background(), tool.ApprovalRequest{
		SessionID: "s", Tool: tool.Spec{Name: "bash"}, Subject: &tool.Subject{
			Kind:    tool.SubjectCommand,
			Command: s.names.Replace(l.hidden.Replace(x.command)),
			Cwd:     s.work,
		},
	})
	s.must(err)
	return d.Allow
}

// try runs the command if it requires no approval. It returns the forbidden effects that the
// command had.
func (l *laboratory) try(x experiment) (bad []string, output string) {
	if !l.unasked(x, l.model) {
		return nil, ""
	}
	s := l.scene()
	defer s.close()
	l.ran.Add(1)
	seen := s.names.Replace(l.hidden.Replace(x.command))
	own := policy.Folders{Tmp: s.base + "/tmp", Layer: s.base + "/layer"}
	plan, err := l.policy(x, s).SandboxPlan("s", seen, own, policy.Granted{Proxy: s.network})
	s.must(err)
	reads := policy.Classify(seen).Class == policy.ReadOnly
	env := policy.Environment{Own: os.Environ(), Roots: []string{s.work}}
	c := Command{
		Script: s.names.Replace(x.command), Dir: s.work, Env: env.Child(), Sandbox: plan,
		Timeout: 3 * time.Second,
	}
	switch {
	case reads && x.kind.Kind == sandbox.Own:
		c.Env = env.Reading(l.home, "")
	case reads:
		c.Env = env.Reading(own.Tmp, own.Tmp)
	}
	effects, output := s.effectsOf(l.r, c)
	if !reads && x.profile != policy.ProfileReadOnly {
		delete(effects, "workspace")
	}
	for effect, had := range effects {
		if had {
			bad = append(bad, effect)
		}
	}
	return bad, output
}

// report describes an experiment that had forbidden effects.
func (x experiment) report(bad []string, output string) string {
	return fmt.Sprintf("in %s, profile %s, this ran without a question and had the effects %v:\n%s\n%.500s",
		x.kind.Kind, x.profile, bad, x.command, output)
}

// FuzzUnasked generates commands. A command that runs without approval must not write outside its
// scratch folder (with the profile workspace, outside the workspace), open a connection, or show a
// secret or another file in the home folder.
func FuzzUnasked(f *testing.F) {
	if flag.Lookup("test.fuzzworker").Value.String() == "true" {
		for fd := 3; fd < 6; fd++ { // pipes of a fuzzing worker, which exits when they are closed
			syscall.CloseOnExec(fd)
		}
	}
	l := newLaboratory(f)
	for i := range 20 {
		f.Add(randomBytes(rand.New(rand.NewPCG(7, uint64(i)))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l.t, l.model.t = t, t // the target must use its own t instead of f
		x := l.experiment(data)
		if bad, output := l.try(x); len(bad) > 0 {
			t.Error(x.report(bad, output))
		}
	})
}

func randomBytes(r *rand.Rand) []byte {
	data := make([]byte, 40)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// enoughRuns is the number of commands that a short run executes, however busy the machine is.
const enoughRuns = 5

// search tries up to the given number of cases of a seed, until one has a forbidden effect or the
// time is over. It returns the number of cases tried.
func (l *laboratory) search(seed uint64, cases int, until time.Time) (tried int, found []string) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	todo := make(chan experiment)
	for range 8 { // the workers mostly wait
		wg.Go(func() {
			for x := range todo {
				if bad, output := l.try(x); len(bad) > 0 {
					mu.Lock()
					found = append(found, x.report(bad, output))
					mu.Unlock()
				}
			}
		})
	}
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(found) > 0 ||
			!until.IsZero() && time.Now().After(until) && l.ran.Load() >= enoughRuns
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for ; tried < cases && !enough(); tried++ {
		todo <- l.experiment(randomBytes(r))
	}
	close(todo)
	wg.Wait()
	return tried, found
}

// TestUnaskedCommandsHaveNoEffect is a short run of FuzzUnasked. It uses a fixed seed, so the order
// of the commands is always the same. A faster machine tries more of them.
func TestUnaskedCommandsHaveNoEffect(t *testing.T) {
	l := newLaboratory(t)
	tried, found := l.search(1, 1<<20, time.Now().Add(4*time.Second))
	for _, f := range found {
		t.Error(f)
	}
	t.Logf("%d commands, %d of them ran without a question", tried, l.ran.Load())
}

// TestTheGeneratorFindsAHole plants a hole in the policy, which then classifies sort -o in the same
// way as cat. The generator must find the hole with a fixed seed.
func TestTheGeneratorFindsAHole(t *testing.T) {
	l := newLaboratory(t)
	l.kinds = l.kinds[len(l.kinds)-1:] // without a sandbox, only the policy stops the command
	l.hidden = strings.NewReplacer("sort -o OUT/pwned", "cat", "sort -oOUT/pwned", "cat")
	tried, found := l.search(44, 5000, time.Time{})
	if len(found) == 0 {
		t.Fatalf("%d commands did not find the hole", tried)
	}
	t.Logf("found after %d commands: %s", tried, found[0])
}

// TestTheGeneratorFindsAHoleInASandbox plants a hole in the sandbox: a writable folder outside the
// workspace.
func TestTheGeneratorFindsAHoleInASandbox(t *testing.T) {
	l := newLaboratory(t)
	l.kinds = l.kinds[:1]
	l.open = true
	tried, found := l.search(1, 5000, time.Time{})
	if len(found) == 0 {
		t.Fatalf("%d commands did not find the hole", tried)
	}
	t.Logf("found after %d commands: %s", tried, found[0])
}
