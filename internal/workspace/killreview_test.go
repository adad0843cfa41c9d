package workspace

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// These tests review many hunks in a process that is killed with SIGKILL at a random moment,
// instead of at one of its own steps. Decisions that the process has reported must be kept.

const (
	reviewEnv   = "WORKSPACE_TEST_REVIEW"
	reviewFiles = 3
	reviewHunks = 12 // hunks in each file
)

// reviewText returns a file's text with the accepted hunks applied.
func reviewText(taken func(i int) bool) string {
	var b strings.Builder
	for i := range reviewHunks {
		line := fmt.Sprintf("old %d\n", i)
		if taken(i) {
			line = fmt.Sprintf("new %d\nand more of it\n", i)
		}
		b.WriteString("before\n" + line + "after\n\n")
	}
	return b.String()
}

// reviewHere runs in the killed process. It decides hunk by hunk and reports each decision.
func reviewHere() {
	dir := os.Getenv(reviewEnv)
	if dir == "" {
		return
	}
	w := New(Options{StateDir: filepath.Join(dir, "state")})
	w.SetRoots([]string{"file://" + filepath.Join(dir, "ws")})
	req := ProposeRequest{SessionID: "s", TurnID: "t", ItemID: "i", Title: "Edit",
		Policy: Policy(os.Getenv("WORKSPACE_TEST_POLICY"))}
	for i := range reviewFiles {
		ref, err := w.Resolve("", fmt.Sprintf("%d.txt", i))
		if err != nil {
			panic(err)
		}
		req.Changes = append(req.Changes,
			Change{Op: Modify, Ref: ref, Data: []byte(reviewText(func(int) bool { return true }))})
	}
	p, err := w.Propose(context.Background(), req)
	if err != nil {
		panic(err)
	}
	for i := range reviewHunks {
		var ds []Decision
		for _, f := range p.Files {
			d := accept(f.Hunks[i].ID)
			if rand.N(3) == 0 {
				d.Action = Reject
			}
			ds = append(ds, d)
		}
		if _, err := w.Decide(context.Background(),
			DecideRequest{ProposalID: p.ID, Decisions: ds}); err != nil {
			panic(err)
		}
		for _, d := range ds {
			fmt.Println(d.HunkID, d.Action)
		}
	}
	os.Exit(0)
}

func TestKilledInReview(t *testing.T) {
	for round := range 9 {
		policy := []Policy{Ask, Review, Collect}[round%3]
		t.Run(fmt.Sprint(policy, round), func(t *testing.T) {
			t.Parallel()
			dir := realDir(t)
			must(t, os.Mkdir(filepath.Join(dir, "ws"), 0o755))
			for i := range reviewFiles {
				must(t, os.WriteFile(filepath.Join(dir, "ws", fmt.Sprintf("%d.txt", i)),
					[]byte(reviewText(func(int) bool { return false })), 0o644))
			}
			answered := reviewAndKill(t, dir, policy, rand.N(reviewFiles*(reviewHunks-1)))
			checkReview(t, dir, policy, answered)
		})
	}
}

// reviewAndKill kills the process after the given number of reported decisions, whatever the
// process is doing at that time. It returns all decisions that the process reported.
func reviewAndKill(t *testing.T, dir string, policy Policy, after int) map[string]Action {
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), reviewEnv+"="+dir, "WORKSPACE_TEST_POLICY="+string(policy))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	answered := map[string]Action{}
	for sc := bufio.NewScanner(out); sc.Scan(); {
		id, action, ok := strings.Cut(sc.Text(), " ")
		if answered[id] = Action(action); !ok {
			t.Fatalf("the process says %q", sc.Text())
		}
		if len(answered) > after {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return answered
}

// checkReview opens the workspace again, as a new daemon does. Each reported decision must be kept,
// each file must match the states of its hunks, and it must be possible to decide the remaining
// hunks.
func checkReview(t *testing.T, dir string, policy Policy, answered map[string]Action) {
	b := &bench{t: t, dir: filepath.Join(dir, "ws"), ed: newFake(t, UTF16)}
	b.start(Options{Client: b.ed, StateDir: filepath.Join(dir, "state")})
	must(t, b.LoadSession(context.Background(), "s"))
	p := b.List("s", "", "")[0]
	for i, f := range p.Files {
		for _, h := range f.Hunks {
			want := map[Action]HunkState{Accept: HunkAccepted, Reject: HunkRejected}[answered[h.ID]]
			if want != "" && h.State != want {
				t.Fatalf("the answer for hunk %s was %s, but after the restart it is %s", h.ID,
					answered[h.ID], h.State)
			}
		}
		text := reviewText(func(k int) bool {
			return f.Hunks[k].State == HunkAccepted || f.Hunks[k].State == HunkPending &&
				policy == Review
		})
		if got := b.disk(fmt.Sprintf("%d.txt", i)); got != text {
			t.Fatalf("%d.txt does not match its hunks:\n%s\nwant\n%s", i, got, text)
		}
	}
	left, _ := filepath.Glob(b.path(".*"))
	equal(t, "temporary files", len(left), 0)
	if p.State == StateProposed {
		equal(t, "conflicts of the remaining hunks", len(b.decide(&p, accept("*")).Conflicts), 0)
	}
}
