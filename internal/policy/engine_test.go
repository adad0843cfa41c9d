package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// scriptedUser answers questions with a function and records the questions that were shown.
type scriptedUser struct {
	mu      sync.Mutex
	batches [][]Question
	answer  func(ctx context.Context, qs []Question) []Reply
}

func (p *scriptedUser) Ask(ctx context.Context, qs []Question) []Reply {
	p.mu.Lock()
	p.batches = append(p.batches, qs)
	p.mu.Unlock()
	return p.answer(ctx, qs)
}

func (p *scriptedUser) shown() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.batches {
		n += len(b)
	}
	return n
}

// always returns a function that gives every question the same answer.
func always(r Reply) func(context.Context, []Question) []Reply {
	return func(_ context.Context, qs []Question) []Reply {
		out := make([]Reply, len(qs))
		for i := range out {
			out[i] = r
		}
		return out
	}
}

// boxed is a system that has the daemon's own sandbox. weak is a system whose sandbox does not hide
// files.
var (
	boxed = sandbox.Support{Kind: sandbox.Own}
	weak  = sandbox.Support{Kind: sandbox.Namespace, ABI: 7}
)

func newEngine(t *testing.T, p *scriptedUser, box sandbox.Support, store Store) *Engine {
	t.Helper()
	o := Options{Store: store, Sandbox: func() sandbox.Support { return box }}
	if p != nil {
		o.Asker = p
	}
	e, err := NewEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func command(session, script string) tool.ApprovalRequest {
	return tool.ApprovalRequest{SessionID: session, Tool: tool.Spec{Name: "bash"},
		Effect: tool.Mutates,
		Subject: &tool.Subject{Kind: tool.SubjectCommand, Title: "Run " + script, Command: script,
			Cwd: "/w"}, Waiting: func() {}}
}

func about2(kind tool.SubjectKind, name string, effect tool.Effect, subject string,
	paths ...string) tool.ApprovalRequest {
	return tool.ApprovalRequest{SessionID: "s", Tool: tool.Spec{Name: name}, Effect: effect,
		Waiting: func() {},
		Subject: &tool.Subject{Kind: kind, Name: subject, Paths: paths}}
}

func mustRules(t *testing.T, list ...string) []Rule {
	t.Helper()
	rules, errs := ParseRules("rules", list)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return rules
}

func TestProfiles(t *testing.T) {
	none := sandbox.Support{Kind: sandbox.None, Why: "a test"}
	here := t.TempDir()
	hereCommand := command("s", "ls -la | head -3")
	hereCommand.Subject.Cwd = here
	unbox := command("s", "make")
	unbox.Subject.Unboxed = true
	silent := tool.ApprovalRequest{SessionID: "s", Tool: tool.Spec{Name: "edit"},
		Effect: tool.Mutates, Waiting: func() {}}
	for _, tc := range []struct {
		name   string
		s      Settings
		box    sandbox.Support
		req    tool.ApprovalRequest
		want   Action
		reason string
	}{
		{"readOnly reads", Settings{Profile: ProfileReadOnly}, boxed, command("s", "ls"), Allow,
			""},
		{
			"readOnly refuses", Settings{Profile: ProfileReadOnly},
			boxed, command("s", "make"), Deny, "readOnly allows only reading",
		},
		{
			"readOnly refuses even with a rule",
			Settings{Profile: ProfileReadOnly, Rules: mustRules(t, "allow bash(make)")},
			boxed, command("s", "make"), Deny, "",
		},
		{
			"readOnly refuses edits", Settings{Profile: ProfileReadOnly},
			boxed, about2(tool.SubjectEdit, "edit", tool.Mutates, "", "/w/a"), Deny, "",
		},
		{"readOnly refuses what changes without a subject", Settings{Profile: ProfileReadOnly},
			boxed, silent, Deny, ""},
		{"ask runs a reader in the sandbox", Settings{}, boxed, command("s", "git status"), Allow,
			""},
		{"ask asks about a reader without one", Settings{}, none, command("s", "git status"), Ask,
			"no sandbox that limits it to reading: a test"},
		{"ask runs the short list without one", Settings{Roots: []string{here}}, none, hereCommand,
			Allow, ""},
		{
			"ask runs the short list with the sandbox off",
			Settings{Roots: []string{here}, Sandbox: sandbox.Off}, boxed, hereCommand, Allow, "",
		},
		{"readOnly runs the short list without one",
			Settings{Profile: ProfileReadOnly, Roots: []string{here}}, none, hereCommand, Allow,
			""},
		{"readOnly refuses other readers without one",
			Settings{Profile: ProfileReadOnly, Roots: []string{here}}, none,
			command("s", "git status"), Deny, "no sandbox that limits it to reading"},
		{"workspace runs the short list without one",
			Settings{Profile: ProfileWorkspace, Roots: []string{here}}, none, hereCommand, Allow,
			""},
		{"ask asks", Settings{}, boxed, command("s", "make"), Ask, "make can do more than read"},
		{"ask leaves edits to the edit policy", Settings{}, boxed,
			about2(tool.SubjectEdit, "edit", tool.Mutates, "", "/w/a.go"), Allow, ""},
		{"what has nothing to ask about runs", Settings{}, boxed, silent, Allow, ""},
		{"an allowed command runs", Settings{Rules: mustRules(t, "allow bash(make)")}, boxed,
			command("s", "make"), Allow, ""},
		{"an allowed command runs in a required sandbox",
			Settings{Rules: mustRules(t, "allow bash(make)"), Sandbox: sandbox.Require}, boxed,
			command("s", "make"), Allow, ""},
		{"rules for edits are not for commands", Settings{Rules: mustRules(t, "allow edit(*)")},
			boxed, command("s", "make"), Ask, ""},
		{"workspace runs in the sandbox", Settings{Profile: ProfileWorkspace}, boxed,
			command("s", "make"), Allow, ""},
		{
			"workspace asks outside it", Settings{Profile: ProfileWorkspace},
			boxed, unbox, Ask, "outside the sandbox (agent-lsp)",
		},
		{"workspace asks without one", Settings{Profile: ProfileWorkspace}, none,
			command("s", "make"), Ask, "no sandbox to run it in: a test"},
		{"workspace asks when it is off", Settings{Profile: ProfileWorkspace, Sandbox: sandbox.Off},
			boxed, command("s", "make"), Ask, "switched off"},
		{"require refuses without a sandbox",
			Settings{Profile: ProfileTrust, Sandbox: sandbox.Require}, none, command("s", "ls"),
			Deny, "this machine has no sandbox"},
		{"require refuses to leave it", Settings{Profile: ProfileTrust, Sandbox: sandbox.Require},
			boxed, unbox, Deny, "sandbox: require"},
		{
			"trust asks outside it", Settings{Profile: ProfileTrust},
			boxed, unbox, Ask, "outside the sandbox (agent-lsp)",
		},
		{
			"a rule does not lead outside", Settings{Rules: mustRules(t, "allow bash(make)")},
			boxed, unbox, Ask, "outside the sandbox (agent-lsp)",
		},
		{"readOnly refuses to leave it", Settings{Profile: ProfileReadOnly}, boxed, unbox, Deny,
			"readOnly allows only reading"},
		{
			"what writes to .git asks to leave ours", Settings{Profile: ProfileTrust},
			boxed, command("s", "go test ./... && git commit -m x"),
			Ask, "git commit writes to .git",
		},
		{
			"it stays inside where .git is writable", Settings{Profile: ProfileTrust},
			weak, command("s", "git commit -m x"), Allow, "",
		},
		{
			"ask asks about a reader in a weak one", Settings{},
			weak, command("s", "git status"), Ask, "does not hide secret files",
		},
		{
			"ask runs the short list in a weak one", Settings{Roots: []string{here}},
			weak, hereCommand, Allow, "",
		},
		{
			"readOnly refuses other readers in a weak one", Settings{Profile: ProfileReadOnly},
			weak, command("s", "git status"), Deny, "does not hide secret files",
		},
		{
			"workspace asks in a weak one", Settings{Profile: ProfileWorkspace},
			weak, command("s", "make"), Ask, "does not hide secret files",
		},
		{
			"a secret file in a revision asks", Settings{Profile: ProfileWorkspace},
			boxed, command("s", "git show HEAD:.env"), Ask, ".env",
		},
		{
			"trust runs in a weak one", Settings{Profile: ProfileTrust},
			weak, command("s", "make"), Allow, "",
		},
		{
			"a rule names what it allows in a weak one",
			Settings{Roots: []string{here}, Rules: mustRules(t, "allow bash(touch *)")},
			weak, command("s", "touch "+here+"/.envrc"), Ask, "",
		},
		{
			"it stays inside where the sandbox is required",
			Settings{Profile: ProfileTrust, Sandbox: sandbox.Require},
			boxed, command("s", "git commit -m x"), Allow, "",
		},
		{"trust runs anything", Settings{Profile: ProfileTrust}, boxed, command("s", "rm -rf $x"),
			Allow, ""},
		{"trust obeys deny rules", Settings{Profile: ProfileTrust,
			Rules: mustRules(t, "deny bash(rm *)")}, boxed, command("s", "rm x"), Deny,
			"deny bash(rm *)"},
		{"trust asks where a deny rule may be meant",
			Settings{Profile: ProfileTrust, Rules: mustRules(t, "deny bash(rm *)")}, boxed,
			command("s", "$x y"), Ask, "may apply to it"},
		{"plan is read-only", Settings{Profile: ProfileTrust, Plan: true}, boxed,
			command("s", "make"), Deny, "approved a plan"},
		{".env asks before it is read", Settings{}, boxed,
			about2(tool.SubjectRead, "read", tool.ReadOnly, "", "/w/.env.local"), Ask,
			"usually contains secrets"},
		{"an example does not", Settings{}, boxed,
			about2(tool.SubjectRead, "read", tool.ReadOnly, "", "/w/.env.example"), Allow, ""},
		{"case and URIs do not matter", Settings{}, boxed,
			about2(tool.SubjectRead, "read", tool.ReadOnly, "", "file:///w/%2EENV"), Ask, ""},
		{"one protected path is enough", Settings{}, boxed,
			about2(tool.SubjectEdit, "edit", tool.Mutates, "", "/w/a.go", "/w/.git/config"), Ask,
			".git"},
		{"agent settings ask", Settings{}, boxed,
			about2(tool.SubjectEdit, "edit", tool.Mutates, "", "/w/.agent-lsp.json"), Ask,
			"what the agent may do"},
		{"a rule denies a path", Settings{Roots: []string{"/w"},
			Rules: mustRules(t, "deny edit(src/**)")}, boxed,
			about2(tool.SubjectEdit, "edit", tool.Mutates, "", "/w/a", "/w/src/x/y.go"), Deny, ""},
		{"a rule allows a secret", Settings{Roots: []string{"/w"},
			Rules: mustRules(t, "allow read(.env)")}, boxed,
			about2(tool.SubjectRead, "read", tool.ReadOnly, "", "/w/.env"), Allow, ""},
		{"MCP tools ask", Settings{Profile: ProfileWorkspace}, boxed,
			about2(tool.SubjectMCP, "db__query", tool.ReadOnly, "db/query"), Ask, ""},
		{"a rule allows a server", Settings{Rules: mustRules(t, "allow mcp(db/*)")}, boxed,
			about2(tool.SubjectMCP, "db__query", tool.Mutates, "db/query"), Allow, ""},
		{"a rule by the tool's name", Settings{Rules: mustRules(t, "deny db__*(*)")}, boxed,
			about2(tool.SubjectMCP, "db__query", tool.Mutates, "db/query"), Deny, ""},
		{"the network asks", Settings{}, boxed,
			about2(tool.SubjectNetwork, "fetch", tool.ReadOnly, "example.org"), Ask, "example.org"},
		{"hosts have no case", Settings{Rules: mustRules(t, "allow network(*.Example.org)")}, boxed,
			about2(tool.SubjectNetwork, "fetch", tool.ReadOnly, "API.example.ORG"), Allow, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEngine(t, nil, tc.box, nil)
			e.Configure("s", tc.s)
			v := e.check(&tc.req)
			if v.action != tc.want || !strings.Contains(v.reason, tc.reason) {
				t.Errorf("got %v (%s), want %v (%s)", v.action, v.reason, tc.want, tc.reason)
			}
			if d := e.settle(v); d.Unboxed {
				t.Error("allowed outside the sandbox without a question")
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		reply  Reply
		allow  bool
		reason string
		grants int
	}{
		{"once", Reply{OptionID: "allow_once"}, true, "", 0},
		{"session", Reply{OptionID: "allow_session"}, true, "", 1},
		{"always", Reply{OptionID: "allow_always"}, true, "", 1},
		{"reject", Reply{OptionID: "reject_once", Feedback: " use make instead "}, false,
			"and says: use make instead", 0},
		{"reject always", Reply{OptionID: "reject_always"}, false, "refused", 1},
		{"unknown option", Reply{OptionID: "yes"}, false, "did not allow", 0},
		{"empty", Reply{}, false, "did not allow", 0},
		{"cancelled with an option", Reply{OptionID: "allow_once", Cancelled: true}, false,
			"did not allow", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &scriptedUser{answer: always(tc.reply)}
			e := newEngine(t, p, boxed, nil)
			d, err := e.Approve(context.Background(), command("s", "go test ./..."))
			if err != nil || d.Allow != tc.allow || !strings.Contains(d.Reason, tc.reason) ||
				len(e.Grants()) != tc.grants {
				t.Errorf("got %+v, %v, grants %+v", d, err, e.Grants())
			}
		})
	}
}

func TestNoReplyAtAllIsARefusal(t *testing.T) {
	p := &scriptedUser{answer: func(context.Context, []Question) []Reply { return nil }}
	if d, err := newEngine(t, p, boxed, nil).Approve(context.Background(),
		command("s", "make")); err != nil || d.Allow {
		t.Errorf("got %+v, %v", d, err)
	}
	if d, err := newEngine(t, nil, boxed, nil).Approve(context.Background(),
		command("s", "make")); err != nil || d.Allow ||
		!strings.Contains(d.Reason, "no client can ask for it") {
		t.Errorf("without an asker: got %+v, %v", d, err)
	}
}

func TestGrantsAreScopedCountedListedAndRevoked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "grants.json")
	p := &scriptedUser{answer: always(Reply{OptionID: "allow_session"})}
	e := newEngine(t, p, boxed, NewFileStore(path))
	e.Configure("s", Settings{Roots: []string{"/w"}})
	e.Configure("other", Settings{Roots: []string{"/w"}})
	e.Configure("elsewhere", Settings{Roots: []string{"/x"}})
	approve := func(session, script string) bool {
		t.Helper()
		d, err := e.Approve(context.Background(), command(session, script))
		if err != nil {
			t.Fatal(err)
		}
		return d.Allow
	}
	approve("s", "go test ./...")
	approve("s", "go test ./x")
	if p.shown() != 1 {
		t.Errorf("%d questions in the session, want 1", p.shown())
	}
	approve("other", "go test ./...")
	if p.shown() != 2 {
		t.Errorf("the grant applied to another session")
	}
	p.answer = always(Reply{OptionID: "allow_always"})
	approve("s", "npm test")
	approve("other", "npm test")
	if p.shown() != 3 {
		t.Errorf("%d questions, want 3: \"always\" applies to the workspace", p.shown())
	}
	p.answer = always(Reply{OptionID: "reject_once"})
	if approve("elsewhere", "npm test") {
		t.Error("\"always\" applied to another workspace")
	}
	if approve("s", "npm test && rm -rf x") {
		t.Error("a compound command was allowed by a grant for one of its parts")
	}
	e.Forget("s")
	if len(e.Grants()) != 2 {
		t.Errorf("got %+v, want the other session's grant and the one for \"always\"", e.Grants())
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	again := newEngine(t, p, boxed, NewFileStore(path))
	list := again.Grants()
	if len(list) != 1 || list[0].Pattern() != "bash(npm test *)" || list[0].Uses != 1 {
		t.Fatalf("after a restart: %+v", list)
	}
	if ok, err := again.Revoke(list[0].ID); !ok || err != nil {
		t.Errorf("revoking: %v, %v", ok, err)
	}
	if ok, _ := again.Revoke(list[0].ID); ok {
		t.Error("revoked twice")
	}
	if l := newEngine(t, p, boxed, NewFileStore(path)).Grants(); len(l) != 0 {
		t.Errorf("a revoked grant came back: %+v", l)
	}
}

// If several daemons add grants to the same file at the same time, all grants are kept.
func TestGrantsOfDaemonsAtOnceAreAllKept(t *testing.T) {
	const daemons, each = 3, 5
	path := filepath.Join(t.TempDir(), "state", "grants.json")
	p := &scriptedUser{answer: always(Reply{OptionID: "allow_always"})}
	var wg sync.WaitGroup
	for n := range daemons {
		e := newEngine(t, p, boxed, NewFileStore(path))
		e.Configure("s", Settings{Roots: []string{"/w"}})
		wg.Go(func() {
			for i := range each {
				script := fmt.Sprintf("tool%dx%d run", n, i)
				if d, err := e.Approve(t.Context(), command("s", script)); err != nil || !d.Allow {
					t.Errorf("%s: %+v, %v", script, d, err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(newEngine(t, p, boxed, NewFileStore(path)).Grants()); got != daemons*each {
		t.Errorf("%d grants were kept, want %d", got, daemons*each)
	}
}

// If two daemons share one store, a grant or revocation by one daemon is kept when the other daemon
// exits, even if that daemon read the store earlier. A daemon without changes writes nothing.
func TestDaemonsDoNotUndoEachOthersGrants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "grants.json")
	p := &scriptedUser{answer: always(Reply{OptionID: "allow_always"})}
	open := func() *Engine {
		e := newEngine(t, p, boxed, NewFileStore(path))
		e.Configure("s", Settings{Roots: []string{"/w"}})
		return e
	}
	approve := func(e *Engine, script string) {
		t.Helper()
		if d, err := e.Approve(t.Context(), command("s", script)); err != nil || !d.Allow {
			t.Fatalf("%s: %+v, %v", script, d, err)
		}
	}
	flush := func(e *Engine) {
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	stored := func() (out []string) {
		for _, g := range open().Grants() {
			out = append(out, g.Pattern())
		}
		return out
	}
	flush(open())
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("something was stored although nothing was granted")
	}
	approve(open(), "npm test")
	one, other := open(), open()
	approve(one, "go test ./...")
	flush(other)
	if got := stored(); len(got) != 2 {
		t.Errorf("the other daemon's exit removed a grant: %v", got)
	}
	approve(other, "cargo test")
	if got := stored(); len(got) != 3 || len(other.Grants()) != 3 {
		t.Errorf("the other daemon's grant removed one: %v, it has %v", got, other.Grants())
	}
	if ok, err := other.Revoke(other.Grants()[0].ID); !ok || err != nil {
		t.Fatal(ok, err)
	}
	approve(one, "npm test") // uses the grant that the other daemon has revoked
	flush(one)
	if got := stored(); len(got) != 2 || strings.Contains(strings.Join(got, " "), "npm") {
		t.Errorf("the revoked grant is stored again: %v", got)
	}
}

func TestQuestionsOfOneMomentAreShownTogether(t *testing.T) {
	first, release := make(chan struct{}), make(chan struct{})
	p := &scriptedUser{}
	p.answer = func(ctx context.Context, qs []Question) []Reply {
		if qs[0].Subject.Command == "first" {
			close(first)
			<-release
		}
		return always(Reply{OptionID: "allow_session"})(ctx, qs)
	}
	e := newEngine(t, p, boxed, nil)
	var wg sync.WaitGroup
	approve := func(script string) {
		defer wg.Done()
		if d, err := e.Approve(context.Background(), command("s", script)); err != nil || !d.Allow {
			t.Errorf("%s: %+v, %v", script, d, err)
		}
	}
	wg.Add(1)
	go approve("first")
	<-first
	for _, s := range []string{"second", "third", "first", "fourth"} {
		wg.Add(1)
		go approve(s)
	}
	waiting := func() int {
		e.asks.mu.Lock()
		defer e.asks.mu.Unlock()
		return len(e.asks.queue["s"])
	}
	for end := time.Now().Add(2 * time.Minute); waiting() < 4 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	close(release)
	wg.Wait()
	var sizes []int
	for _, b := range p.batches {
		sizes = append(sizes, len(b))
	}
	// The second call of "first" is not asked about, because the user has granted it for the
	// session by then.
	if !slices.Equal(sizes, []int{1, 3}) {
		t.Errorf("shown in batches of %v, want 1 and then 3 together", sizes)
	}
}

// Questions about calls that started together are shown together and in call order, in whatever
// order and at whatever time they arrive. If one of the questions never arrives, the others are
// delayed only for a limited time.
func TestTheFirstOfAMomentWaitsForTheOthers(t *testing.T) {
	p := &scriptedUser{answer: always(Reply{OptionID: "allow_once"})}
	e := newEngine(t, p, boxed, nil)
	e.asks.bound = time.Hour // so that the result does not depend on the speed of the machine
	gathered, queued := make(chan struct{}), make(chan struct{}, 3)
	var wg sync.WaitGroup
	for _, i := range []int{2, 0, 1} {
		req := command("s", "touch "+string(rune('a'+i)))
		req.Index, req.Gathered, req.Waiting = i, gathered, func() { queued <- struct{}{} }
		wg.Go(func() {
			if d, err := e.Approve(context.Background(), req); err != nil || !d.Allow {
				t.Errorf("%d: %+v, %v", i, d, err)
			}
		})
		<-queued
	}
	close(gathered)
	wg.Wait()
	if len(p.batches) != 1 || len(p.batches[0]) != 3 ||
		p.batches[0][0].Subject.Command != "touch a" ||
		p.batches[0][2].Subject.Command != "touch c" {
		t.Fatalf("shown as %+v, want one batch of three in order", p.batches)
	}
	e = newEngine(t, p, boxed, nil)
	alone := command("s", "touch d")
	alone.Gathered = make(chan struct{})
	if d, err := e.Approve(context.Background(), alone); err != nil || !d.Allow {
		t.Errorf("a question whose group is never complete: %+v, %v", d, err)
	}
}

func TestAnEndedCallIsNotWaitedFor(t *testing.T) {
	shown := make(chan Question, 1)
	ended := make(chan struct{})
	p := &scriptedUser{answer: func(ctx context.Context, qs []Question) []Reply {
		shown <- qs[0]
		<-ctx.Done()
		close(ended)
		return []Reply{{OptionID: "allow_always"}}
	}}
	e := newEngine(t, p, boxed, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	steer := &tool.SteerError{Text: "stop"}
	go func() {
		q := <-shown
		cancel(steer)
		<-q.Context.Done()
	}()
	d, err := e.Approve(ctx, command("s", "make"))
	if d.Allow || !errors.Is(err, steer) {
		t.Errorf("got %+v, %v; want the steer", d, err)
	}
	<-ended
	if len(e.Grants()) != 0 {
		t.Errorf("an answer after the end granted %+v", e.Grants())
	}
}

func TestASubAgentNeverHasMoreThanItsParent(t *testing.T) {
	e := newEngine(t, nil, boxed, nil)
	e.Configure("parent", Settings{Profile: ProfileAsk, Rules: mustRules(t, "deny bash(make *)")})
	e.Configure("child", Settings{Profile: ProfileTrust, Parent: "parent",
		Rules: mustRules(t, "allow bash(*)", "deny bash(npm *)"), Sandbox: sandbox.Off})
	e.Configure("orphan", Settings{Profile: ProfileTrust, Parent: "nobody"})
	for script, want := range map[string]Action{"ls": Allow, "go build": Ask, "make x": Deny,
		"npm test": Deny} {
		req := command("child", script)
		if got := e.check(&req); got.action != want {
			t.Errorf("child: %q is %v, want %v", script, got.action, want)
		}
	}
	req := command("orphan", "make")
	if got := e.check(&req); got.action != Deny {
		t.Errorf("a child without a parent: %v, want deny", got.action)
	}
	e.SetPlan("parent", true)
	req = command("child", "go build")
	if got := e.check(&req); got.action != Deny {
		t.Errorf("while the parent plans: %v, want deny", got.action)
	}
}

func TestAPlanIsApprovedByAPersonOnly(t *testing.T) {
	p := &scriptedUser{answer: always(Reply{OptionID: "reject_once", Feedback: "smaller"})}
	e := newEngine(t, p, boxed, nil)
	e.Configure("s", Settings{Profile: ProfileTrust, Plan: true, Rules: mustRules(t, "allow *(*)")})
	d, err := e.ApprovePlan(context.Background(), tool.ApprovalRequest{SessionID: "s"}, "1. do it")
	if err != nil || d.Allow || !strings.Contains(d.Reason, "smaller") || !e.Settings("s").Plan {
		t.Errorf("refused: %+v, %v", d, err)
	}
	p.answer = always(Reply{OptionID: "allow_once"})
	if d, err := e.ApprovePlan(context.Background(), tool.ApprovalRequest{SessionID: "s"},
		"1. do it"); err != nil || !d.Allow || e.Settings("s").Plan {
		t.Errorf("approved: %+v, %v", d, err)
	}
	if req := command("s", "make"); e.check(&req).action != Allow {
		t.Error("the session does not continue after the plan was approved")
	}
}

// trusts is an in-memory TrustStore.
type trusts map[string]bool

func (m trusts) Trusts(root string) (bool, bool)     { t, ok := m[root]; return t, ok }
func (m trusts) Set(root string, trusted bool) error { m[root] = trusted; return nil }

func TestTrustIsAskedOnce(t *testing.T) {
	p := &scriptedUser{answer: always(Reply{})}
	e, store := newEngine(t, p, boxed, nil), trusts{}
	for _, step := range []struct {
		reply Reply
		want  bool
		shown int
	}{
		{Reply{}, false, 1}, {Reply{Cancelled: true, OptionID: "allow_always"}, false, 2},
		{Reply{OptionID: "allow_always"}, true, 3}, {Reply{OptionID: "reject_always"}, true, 3},
	} {
		p.answer = always(step.reply)
		got, err := e.AskTrust(t.Context(), store, TrustSettings("s", "/w", "hooks"))
		if err != nil || got != step.want || p.shown() != step.shown {
			t.Errorf("after %+v: %v, %v, %d questions; want %v, %d", step.reply, got, err,
				p.shown(), step.want, step.shown)
		}
	}
}
