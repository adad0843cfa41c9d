package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// attack is one command in testdata/attacks with the files that it needs.
type attack struct {
	class, title, effect string
	repo, root           bool
	setup                []setup
	command              string
}

// setup creates a file at path with the given content, a symbolic link at path with the target
// content, or a hard link at content to the file at path. If path ends with "+", the content is
// appended to the file.
type setup struct{ kind, path, content string }

// readAttacks reads a file of the corpus. testdata/attacks/README.md describes the format.
func readAttacks(t *testing.T, path string) (all []attack) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var a attack
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		word, rest, _ := strings.Cut(lines[i], " ")
		switch word {
		case "attack":
			a = attack{}
			a.class, a.title, _ = strings.Cut(rest, " ")
		case "effect":
			a.effect = rest
		case "repo":
			a.repo = true
		case "root":
			a.root = true
		case "symlink", "hardlink":
			x, y, _ := strings.Cut(rest, " ")
			a.setup = append(a.setup, setup{word, x, y})
		case "file":
			end := i + 1
			for lines[end] != "end" {
				end++
			}
			a.setup = append(a.setup, setup{word, rest, strings.Join(lines[i+1:end], "\n") + "\n"})
			i = end
		case "run":
			c := a
			c.command = rest
			all = append(all, c)
		case "", "#":
		default:
			t.Fatalf("%s:%d: %q is not a valid line", path, i+1, lines[i])
		}
	}
	return all
}

// canary is the content of every secret.
const canary = "CANARY"

// scene is the environment in which one attack runs.
type scene struct {
	prepared              bool // the last command ran in a prepared sandbox
	t                     testing.TB
	base, work, out, home string
	victim                int
	listeners             []net.Listener
	hits                  map[string]*atomic.Int32
	names                 *strings.Replacer
	watchesHome           bool      // no other scene changes the home folder
	internet              *internet // nil until a command can use the network
}

func newScene(t testing.TB, a *attack, victim int, home string) *scene {
	base, err := os.MkdirTemp("/var/tmp", "agent-lsp-attack-")
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{
		t:      t,
		base:   base,
		work:   base + "/work",
		out:    base + "/out",
		home:   home,
		victim: victim,
		hits:   map[string]*atomic.Int32{"connect": {}, "socket": {}},
	}
	for _, d := range []string{s.work, s.out, base + "/tmp"} {
		s.must(os.Mkdir(d, 0o755))
	}
	tcp := s.listen("connect", "tcp", "127.0.0.1:0")
	for _, dir := range []string{s.work, s.out} {
		s.listen("socket", "unix", dir+"/s")
	}
	_, port, _ := net.SplitHostPort(tcp)
	s.names = strings.NewReplacer(
		"WORK",
		s.work,
		"OUT",
		s.out,
		"HOME",
		home,
		"PORT",
		port,
		"VICTIM",
		strconv.Itoa(victim),
		"TMP",
		base+"/tmp",
	)
	s.files(a)
	return s
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// listen starts a listener and returns its address. A connection to the listener counts as the
// given effect.
func (s *scene) listen(effect, network, addr string) string {
	l, err := net.Listen(network, addr)
	s.must(err)
	s.listeners = append(s.listeners, l)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.hits[effect].Add(1)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// connections counts the connections that the command made. A listener accepts connections in order
// and closes each one after counting it. When the test's own connection is closed, all earlier ones
// have been counted.
func (s *scene) connections() map[string]int32 {
	own := map[string]int32{}
	for _, l := range s.listeners {
		c, err := net.Dial(l.Addr().Network(), l.Addr().String())
		if err != nil {
			continue // the command removed the socket
		}
		_, _ = c.Read(make([]byte, 1))
		c.Close()
		if l.Addr().Network() == "tcp" {
			own["connect"]++
		} else {
			own["socket"]++
		}
	}
	return map[string]int32{
		"connect": s.hits["connect"].Load() - own["connect"],
		"socket":  s.hits["socket"].Load() - own["socket"],
	}
}

func (s *scene) close() {
	for _, l := range s.listeners {
		l.Close()
	}
	if s.internet != nil {
		s.internet.proxy.Close()
	}
	_ = os.RemoveAll(s.base)
}

// files creates the files of the workspace.
func (s *scene) files(a *attack) {
	for name, content := range map[string]string{
		"work/src.txt": "one\ntwo\n", "work/.env": "TOKEN=" + canary + "\n",
		"work/deep/down/server.pem": canary + "\n", "work/run.sh": "touch OUT/pwned\n",
		"work/args":    "touch OUT/pwned\n",
		"work/evil.js": `require("fs").writeFileSync("OUT/pwned", "")`,
		"work/evil.pm": `open F, ">", "OUT/pwned"; 1;`, "work/evil.mk": "all:\n\ttouch OUT/pwned\n",
		"out/file": "before",
	} {
		s.write(s.base+"/"+name, content)
	}
	if a.repo {
		s.repository()
	}
	for _, f := range a.setup {
		path := s.work + "/" + strings.TrimSuffix(f.path, "+")
		switch f.kind {
		case "symlink":
			s.must(os.Symlink(s.names.Replace(f.content), path))
		case "hardlink":
			s.must(os.Link(path, s.work+"/"+f.content))
		default:
			before := ""
			if strings.HasSuffix(f.path, "+") {
				old, err := os.ReadFile(path)
				s.must(err)
				before = string(old)
			}
			s.write(path, before+f.content)
		}
	}
}

func (s *scene) write(path, content string) {
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.must(os.WriteFile(path, []byte(s.names.Replace(content)), 0o644))
}

func (s *scene) repository() {
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "src.txt"},
		{"-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-q", "-m", "first"}} {
		c := exec.Command("git", append([]string{"-C", s.work}, args...)...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.base, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := c.CombinedOutput(); err != nil {
			s.t.Fatalf("git: %v %s", err, out)
		}
	}
	s.write(s.work+"/src.txt", "one\nthree\n")
}

// state describes those files below a folder for which keep returns true: their contents and, if
// meta is set, their modes and times.
func (s *scene) state(dir string, meta bool, keep func(rel string) bool) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		fi, err := d.Info()
		if err != nil || !keep(rel) {
			return nil
		}
		fmt.Fprintln(&b, rel, fi.Mode().Type())
		if meta {
			fmt.Fprintln(&b, fi.Mode())
		}
		if meta && !d.IsDir() {
			fmt.Fprintln(&b, fi.ModTime().UnixNano())
		}
		if fi.Mode().IsRegular() {
			data, _ := os.ReadFile(path)
			b.Write(data)
		}
		return nil
	})
	return b.String()
}

func everything(string) bool { return true }

// run executes an attack and returns its effects.
func (s *scene) run(
	r *Runner,
	a *attack,
	plan *sandbox.Plan,
	limit time.Duration,
) (effects map[string]bool, output string) {
	if plan.Prepares() {
		prepareFor(s.t, r, plan)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.home,
		"LANG=C",
		"GOTOOLCHAIN=local",
		"GOPROXY=off",
		"GOFLAGS=-mod=mod",
		"GIT_TERMINAL_PROMPT=0",
		"NO_UPDATE_NOTIFIER=1",
	}
	return s.effectsOf(r, Command{
		Argv:    []string{"bash", "-c", s.names.Replace(a.command)},
		Dir:     s.work,
		Env:     env,
		Sandbox: plan,
		Timeout: limit,
	})
}

// effectsOf runs a command and returns its effects.
func (s *scene) effectsOf(r *Runner, c Command) (effects map[string]bool, output string) {
	plan := c.Sandbox
	meta := plan == nil ||
		plan.Kind != sandbox.Landlock &&
			plan.Kind != sandbox.Namespace // Landlock cannot protect modes and times
	states := func() [3]string {
		return [3]string{
			s.state(s.out, meta, everything),
			s.state(s.work, meta, launcher.StartsPrograms),
			s.state(s.work, meta, everything),
		}
	}
	home := func() string {
		if !s.watchesHome {
			return ""
		}
		return s.state(s.home, meta, everything)
	}
	before, homeBefore := states(), home()
	res, err := r.Run(context.Background(), c)
	s.must(err)
	plan.Close()
	s.prepared = res.Prepared
	if plan.Prepares() {
		r.Forget(plan.Session)
	}
	after := states()
	effects = map[string]bool{
		"outside":   after[0] != before[0] || home() != homeBefore,
		"protected": after[1] != before[1],
		"workspace": after[2] != before[2],
		"secret":    bytes.Contains(append(res.Head, res.Tail...), []byte(canary)),
	}
	for name, n := range s.connections() {
		effects[name] = n > 0
	}
	return effects, string(res.Head)
}

// gaps maps each kind of sandbox to the effects that it does not prevent, and each effect to the
// profile for which this is the case ("" for both profiles). The daemon's own sandbox has no gaps.
// In a sandbox with gaps, a command requires the same approval as without a sandbox.
var gaps = map[sandbox.Kind]map[string]string{
	sandbox.Bubblewrap: {"protected": "workspace", "secret": "", "socket": ""},
	sandbox.Namespace:  {"protected": "workspace", "secret": "", "socket": ""},
	sandbox.Landlock:   {"protected": "workspace", "secret": "", "socket": ""},
}

func isGap(kind sandbox.Kind, profile, effect string) bool {
	where, ok := gaps[kind][effect]
	return ok && (where == "" || where == profile)
}

// attackHome creates a home folder that contains secrets.
func attackHome(t testing.TB) string {
	home, err := os.MkdirTemp("/var/tmp", "agent-lsp-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	for name, content := range map[string]string{".ssh/id_rsa": canary + "\n", "notes.txt": canary +
		"\n", ".aws/credentials": canary + "\n", ".netrc": "machine " + canary + "\n"} {
		if err := os.MkdirAll(filepath.Dir(home+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(home+"/"+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	return home
}

// planFor creates the sandbox plan for a profile in the same way as the policy.
func planFor(t testing.TB, kind sandbox.Support, s *scene, profile string) *sandbox.Plan {
	e, err := policy.NewEngine(policy.Options{Sandbox: func() sandbox.Support { return kind }})
	if err != nil {
		t.Fatal(err)
	}
	e.Configure("s", policy.Settings{Roots: []string{s.work}})
	command := "ls"
	if profile == "workspace" {
		command = "make"
	}
	own := policy.Folders{Tmp: s.base + "/tmp", Layer: s.base + "/layer"}
	plan, err := e.SandboxPlan("s", command, own, policy.Granted{Proxy: s.network})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// network returns a proxy whose user refuses every host, although the settings allow addresses on
// this machine.
func (s *scene) network() (*sandbox.Proxy, error) {
	if s.internet == nil {
		s.internet = newInternet(s.t, "127.0.0.0/8 ::1", "")
	}
	return s.internet.begin(), nil
}

// TestAttacks runs the corpus without a sandbox, where each attack must have its effect, and then
// with every sandbox and profile on this machine, where an attack may have an effect only if gaps
// lists the effect. A short run tries only some of the attacks.
func TestAttacks(t *testing.T) {
	kinds := boxes(t)
	var all []attack
	for _, f := range []string{"commands.txt", "repositories.txt"} {
		all = append(all, readAttacks(t, "../../../testdata/attacks/"+f)...)
	}
	home := attackHome(t)
	victim := startVictim(t)
	r := newRunner(t)
	r.maxIdle = 100
	todo, ran, prepared := make(chan *attack), atomic.Int32{}, atomic.Int32{}
	var wg sync.WaitGroup
	for range 8 { // the workers mostly wait
		wg.Go(func() {
			for a := range todo {
				runs, ahead := tryAttack(t, r, a, kinds, victim, home)
				ran.Add(int32(runs))
				prepared.Add(int32(ahead))
			}
		})
	}
	stride := max(1, atoi(os.Getenv(strideVar)))
	for i := range all {
		if testspeed.Heavy(i) && i%stride == 0 && (!all[i].root || os.Getuid() == 0) {
			todo <- &all[i]
		}
	}
	close(todo)
	wg.Wait()
	t.Logf("%d attacks, %d runs, %d in a prepared sandbox", len(all), ran.Load(),
		prepared.Load())
	if prepared.Load() == 0 {
		t.Error("no attack ran in a prepared sandbox")
	}
	classes := map[string]bool{}
	for _, a := range all {
		classes[a.class] = true
	}
	if len(all) < 400 || len(classes) < 40 {
		t.Errorf("%d attacks of %d classes", len(all), len(classes))
	}
}

// startVictim starts a process that has a secret variable, and returns its ID. Without a sandbox, a
// command can read that variable, because the process has the capabilities of a command that root
// starts.
func startVictim(t testing.TB) int {
	t.Helper()
	victim := exec.Command("sleep", "600")
	victim.Env = []string{"VICTIM_TOKEN=" + canary}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		started <- errors.Join(sandbox.DropTracing(), victim.Start())
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	return victim.Process.Pid
}

// atoi returns 0 if the text is not a number.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func tryAttack(
	t *testing.T,
	r *Runner,
	a *attack,
	kinds []sandbox.Support,
	victim int,
	home string,
) (runs, prepared int) {
	limit := 5 * time.Second
	try := func(plan func(*scene) *sandbox.Plan) (map[string]bool, string) {
		s := newScene(t, a, victim, home)
		defer s.close()
		runs++
		effects, out := s.run(r, a, plan(s), limit)
		if s.prepared {
			prepared++
		}
		return effects, out
	}
	free := func(*scene) *sandbox.Plan { return nil }
	effects, out := try(free)
	if !effects[a.effect] { // on a busy machine, allow more time for all runs
		limit = time.Minute
		effects, out = try(free)
	}
	if !effects[a.effect] {
		t.Errorf(
			"attack %s, %s: without a sandbox %q has no effect, so the test checks nothing\n%s",
			a.class,
			a.title,
			a.command,
			out,
		)
	}
	for _, way := range waysIn(a, kinds) {
		kind := way.kind
		for _, profile := range []string{"readOnly", "workspace"} {
			if isGap(kind.Kind, profile, a.effect) {
				continue
			}
			effects, out := try(func(s *scene) *sandbox.Plan {
				plan := planFor(t, kind, s, profile)
				if !way.ahead {
					plan.Session = ""
				}
				return plan
			})
			if profile == "workspace" {
				delete(effects, "workspace")
			}
			for effect, had := range effects {
				if had && !isGap(kind.Kind, profile, effect) {
					t.Errorf(
						"attack %s, %s: in %s, profile %s, %q had the effect %q\n%s",
						a.class,
						a.title,
						kind.Kind,
						profile,
						a.command,
						effect,
						out,
					)
				}
			}
		}
	}
	return runs, prepared
}

// way is a kind of sandbox. ahead reports whether the sandbox is prepared before the command is
// known.
type way struct {
	kind  sandbox.Support
	ahead bool
}

// waysIn lists the sandboxes in which an attack is tried. For half of the attacks, the daemon's own
// sandbox is prepared in advance, and for the other half it is created for the command. With
// AGENT_LSP_ATTACKS=both, each attack is tried in both ways.
func waysIn(a *attack, kinds []sandbox.Support) (out []way) {
	both := os.Getenv("AGENT_LSP_ATTACKS") == "both"
	even := len(a.command)%2 == 0
	for _, k := range kinds {
		if k.Kind != sandbox.Own || both || even {
			out = append(out, way{kind: k})
		}
		if k.Kind == sandbox.Own && (both || !even) {
			out = append(out, way{k, true})
		}
	}
	return out
}
