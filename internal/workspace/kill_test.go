package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// The kill tests run this test binary again as a daemon that dies, without cleaning up, at the n-th
// step of a write or a decision.

const (
	killEnv       = "WORKSPACE_TEST_KILL_AT"
	killRenameEnv = "WORKSPACE_TEST_KILL_RENAME"
)

// killHere runs in the daemon process. It makes a proposal with a policy, decides it, and is killed
// at the step that an environment variable names.
func killHere() {
	at, dir := os.Getenv(killEnv), os.Getenv("WORKSPACE_TEST_DIR")
	if at == "" {
		return
	}
	n, _ := strconv.Atoi(at)
	policy := Policy(os.Getenv("WORKSPACE_TEST_POLICY"))
	w := New(Options{StateDir: filepath.Join(dir, "state")})
	w.SetRoots([]string{"file://" + filepath.Join(dir, "ws")})
	arm := func() {
		files.AtStep = func(name string) {
			if n--; n == 0 {
				fmt.Print(name)
				os.Exit(3)
			}
		}
	}
	var err error
	if os.Getenv(killRenameEnv) != "" {
		err = w.killInRename(policy, arm)
	} else {
		err = w.killInEdit(policy, arm)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(9)
	}
	os.Exit(0)
}

func (w *Workspace) killInEdit(policy Policy, arm func()) error {
	p, err := w.killProposal(policy)
	if err != nil {
		return err
	}
	arm()
	if policy == Auto {
		_, err = w.killProposal(policy)
		return err
	}
	h := p.Files[0].Hunks
	_, err = w.Decide(context.Background(),
		DecideRequest{ProposalID: p.ID,
			Decisions: []Decision{accept(h[0].ID), accept(p.Files[1].Hunks[0].ID),
				reject(h[1].ID)}})
	return err
}

// killInRename renames a.txt and changes its text. With the policy Review, it then undoes the
// rename.
func (w *Workspace) killInRename(policy Policy, arm func()) error {
	a, err := w.Resolve("", "a.txt")
	if err != nil {
		return err
	}
	to, err := w.Resolve("", "b.txt")
	if err != nil {
		return err
	}
	p, err := w.Propose(context.Background(),
		ProposeRequest{SessionID: "s", TurnID: "t", ItemID: "i", Title: "Rename", Policy: policy,
			Changes: []Change{{Op: Rename, Ref: a, NewRef: to, Data: []byte(edited)}}})
	if err != nil {
		return err
	}
	arm()
	d := accept("*")
	if policy == Review {
		d = reject("*")
	}
	_, err = w.Decide(context.Background(),
		DecideRequest{ProposalID: p.ID, Decisions: []Decision{d}})
	return err
}

// killProposal changes a.txt and creates new.txt. With the policy Auto, it first changes another
// file, so that the process is killed in the second call.
func (w *Workspace) killProposal(policy Policy) (*Proposal, error) {
	ctx := context.Background()
	a, err := w.Resolve("", "a.txt")
	if err != nil {
		return nil, err
	}
	made, err := w.Resolve("", "sub/new.txt")
	if err != nil {
		return nil, err
	}
	req := ProposeRequest{SessionID: "s", TurnID: "t", ItemID: "i", Title: "Edit", Policy: policy}
	req.Changes = []Change{{Op: Modify, Ref: a, Data: []byte(edited)},
		{Op: Create, Ref: made, Data: []byte("new\n")}}
	if policy == Auto && files.AtStep != nil {
		if _, err := os.Stat(filepath.Join(filepath.Dir(a.Path), "warm")); err != nil {
			warm, _ := w.Resolve("", "warm")
			req.Changes = []Change{{Op: Create, Ref: warm, Data: []byte("warm\n")}}
		}
	}
	return w.Propose(ctx, req)
}

func runKilled(t *testing.T, dir string, policy Policy, n int,
	env ...string) (at string, died bool) {
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), killEnv+"="+strconv.Itoa(n), "WORKSPACE_TEST_DIR="+dir,
		"WORKSPACE_TEST_POLICY="+string(policy), "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	var ee *exec.ExitError
	if errors.As(err, &ee) && ee.ExitCode() == 3 {
		return string(out), true
	}
	if err != nil {
		t.Fatalf("the daemon failed: %v\n%s", err, out)
	}
	return "the end", false
}

func TestKilledAtEachStep(t *testing.T) {
	for _, policy := range []Policy{Ask, Collect, Auto} {
		seen := map[string]bool{}
		for n := 1; ; n++ {
			if n > 100 {
				t.Fatal("the daemon never finishes")
			}
			dir := realDir(t)
			must(t, os.Mkdir(filepath.Join(dir, "ws"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "ws/a.txt"), []byte(ten), 0o644))
			at, died := runKilled(t, dir, policy, n)
			seen[at] = true
			checkAfterKill(t, dir, policy, at)
			if !died {
				break
			}
		}
		if len(seen) < 7 {
			t.Fatalf("%s: only these steps were seen: %v", policy, seen)
		}
	}
}

// checkAfterKill opens the workspace again, as a new daemon does. Each file must have either its
// old or its new content, the proposal's state must agree with the files, no other file may be
// left, and it must be possible to decide pending hunks.
func checkAfterKill(t *testing.T, dir string, policy Policy, at string) {
	t.Helper()
	b := &bench{t: t, dir: filepath.Join(dir, "ws"), ed: newFake(t, UTF16)}
	b.start(Options{Client: b.ed, StateDir: filepath.Join(dir, "state")})
	must(t, b.LoadSession(context.Background(), "s"))
	a, made := b.disk("a.txt"), b.disk("sub/new.txt")
	first := strings.Replace(ten, "two", "TWO", 1)
	if policy == Auto {
		first = edited
	}
	if a != ten && a != first {
		t.Fatalf("%s at %s: a.txt is torn:\n%s", policy, at, a)
	}
	if made != "new\n" && !strings.HasPrefix(made, "error") {
		t.Fatalf("%s at %s: new.txt is torn: %q", policy, at, made)
	}
	_ = filepath.WalkDir(b.dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Fatalf("%s at %s: %s is left", policy, at, path)
		}
		return nil
	})
	if policy == Auto {
		checkUndo(t, b, at)
		return
	}
	ps := b.List("s", "", "")
	equal(t, "proposals", len(ps), 1)
	h := ps[0].Files[0].Hunks
	equal(t, "hunk of a.txt at "+at, h[0].State == HunkAccepted, a != ten)
	equal(t, "hunk of new.txt at "+at, ps[0].Files[1].Hunks[0].State == HunkAccepted,
		made == "new\n")
	if s := h[2].State; s != HunkPending {
		t.Fatalf("%s at %s: the third hunk is %s", policy, at, s)
	}
	r := b.decide(&ps[0], accept("*"))
	if len(r.Conflicts) > 0 {
		t.Fatalf("%s at %s: %v", policy, at, r.Conflicts)
	}
	want := edited
	if h[1].State == HunkRejected {
		want = strings.Replace(edited, "FIVE", "five", 1)
	}
	equal(t, "a.txt after deciding the rest", b.disk("a.txt"), want)
	equal(t, "new.txt after deciding the rest", b.disk("sub/new.txt"), "new\n")
	equal(t, "the model is informed", len(b.Outcomes("s", true)), 1)
}

// TestKilledInRename checks that if a daemon is killed while it renames and changes a file, one
// complete file is left, and the proposal reports what happened to it.
func TestKilledInRename(t *testing.T) {
	for _, policy := range []Policy{Ask, Review} {
		seen := map[string]bool{}
		for n, died := 1, true; died; n++ {
			dir, at := realDir(t), ""
			must(t, os.Mkdir(filepath.Join(dir, "ws"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "ws/a.txt"), []byte(ten), 0o644))
			at, died = runKilled(t, dir, policy, n, killRenameEnv+"=1")
			seen[at] = true
			checkKilledRename(t, dir, policy, at)
		}
		if !seen["linked"] || !seen["temp written"] || !seen["renamed"] {
			t.Fatalf("%s: only these steps were seen: %v", policy, seen)
		}
	}
}

func checkKilledRename(t *testing.T, dir string, policy Policy, at string) {
	b := &bench{t: t, dir: filepath.Join(dir, "ws"), ed: newFake(t, UTF16)}
	b.start(Options{Client: b.ed, StateDir: filepath.Join(dir, "state")})
	must(t, b.LoadSession(context.Background(), "s"))
	left := b.files()
	equal(t, "files after "+string(policy)+" at "+at, len(left), 1)
	was, is, d, end := "a.txt "+ten, "b.txt "+edited, accept("*"), HunkAccepted
	if policy == Review {
		was, is, d, end = is, was, reject("*"), HunkRejected
	}
	p := b.List("s", "", "")[0]
	state := p.Files[0].Hunks[0].State
	switch left[0] + " " + b.disk(left[0]) {
	case is:
		equal(t, "done by "+string(policy)+" at "+at, state, end)
	case was:
		equal(t, "not begun by "+string(policy)+" at "+at, state, HunkPending)
		equal(t, "conflicts then", len(b.decide(&p, d).Conflicts), 0)
		equal(t, "renamed", b.files()[0]+" "+b.disk(b.files()[0]), is)
	default:
		equal(t, "partly done by "+string(policy)+" at "+at, state, HunkStale)
	}
}

// checkUndo undoes all changes that were made before the kill.
func checkUndo(t *testing.T, b *bench, at string) {
	for _, cp := range b.Checkpoints("s") {
		if r, err := b.Restore(context.Background(), cp.ID); err != nil || len(r.Conflicts) > 0 {
			t.Fatalf("undoing after a kill at %s: %v %v", at, r.Conflicts, err)
		}
	}
	equal(t, "undone after a kill at "+at, b.disk("a.txt"), ten)
	if !strings.HasPrefix(b.disk("sub/new.txt"), "error") {
		t.Fatal("new.txt is left after a kill at " + at)
	}
}

func TestPendingSurvivesRestart(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten})
	b.ed.open(b.uri("a.txt"), ten)
	p := b.propose(Ask, "a.txt", edited, "b.txt",
		strings.Replace(ten, "five\n", "five\nand a half\n", 1))
	b.ed.type_(b.uri("a.txt"), 0, 0, "unsaved\n")
	b.decide(p, accept(p.Files[0].Hunks[0].ID))
	opt := b.opt
	b.Workspace.Close()
	must(t, os.WriteFile(b.path("b.txt"), []byte("zero\n"+ten), 0o644))
	text := b.ed.text(b.uri("a.txt"))
	b.start(opt)
	must(t, b.LoadSession(context.Background(), "s"))
	must(t, b.LoadSession(context.Background(), "s"))
	b.ed.open(b.uri("a.txt"), text)
	q := b.get(p.ID)
	equal(t, "state", q.State, StateProposed)
	equal(t, "first", q.Files[0].Hunks[0].State, HunkAccepted)
	equal(t, "second", q.Files[0].Hunks[1].State, HunkPending)
	equal(t, "insertion in a changed file", q.Files[1].Hunks[0].State, HunkPending)
	r := b.decide(&q, accept("*"))
	equal(t, "conflicts", len(r.Conflicts), 0)
	equal(t, "a.txt", b.ed.text(b.uri("a.txt")), "unsaved\n"+edited)
	equal(t, "b.txt", b.disk("b.txt"), "zero\n"+
		strings.Replace(ten, "five\n", "five\nand a half\n", 1))
	equal(t, "reported", len(b.Outcomes("s", true)), 1)
	names, err := filepath.Glob(filepath.Join(opt.StateDir, "proposals", "s", "*"))
	must(t, err)
	equal(t, "nothing stored any more", len(names), 0)
}

// TestToldOnce checks that, after a restart, the model does not receive an outcome that the waiting
// call has already returned. The exception is a process that may have ended before the call's
// result was stored.
func TestToldOnce(t *testing.T) {
	for _, boundary := range []bool{true, false} {
		b := newBench(t, map[string]string{"a.txt": ten})
		p := b.propose(Ask, "a.txt", edited)
		b.decide(p, accept("*"))
		o, err := b.Await(context.Background(), p.ID)
		must(t, err)
		equal(t, "reported", o.Text, "applied 3/3 hunks")
		if boundary {
			equal(t, "reported again", len(b.Outcomes("s", false)), 0)
		}
		opt := b.opt
		b.Workspace.Close()
		b.start(opt)
		must(t, b.LoadSession(context.Background(), "s"))
		equal(t, "reported after a restart", len(b.Outcomes("s", true)) == 0, boundary)
	}
}
