package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// numbered returns a text with distinct lines, so that each line can be traced.
func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("line %d of the text\n", i)
	}
	return out
}

// TestAnySubsetUnderTyping proposes changes to some lines of an open or closed file, simulates
// typing in other lines, and decides hunk by hunk. It compares the result with a model that uses a
// list of lines instead of offsets.
func TestAnySubsetUnderTyping(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const n = 30
		b := newBench(t, map[string]string{"a.txt": strings.Join(numbered(n), "")},
			func(o *Options, f *fakeEditor) {
				o.StateDir = ""
				f.enc = rapid.SampledFrom([]Encoding{UTF8, UTF16}).Draw(rt, "encoding")
			})
		defer b.Workspace.Close()
		uri, model, proposed := b.uri("a.txt"), numbered(n), numbered(n)
		open := rapid.Bool().Draw(rt, "open")
		if open {
			b.ed.open(uri, strings.Join(model, ""))
		}
		policy := rapid.SampledFrom([]Policy{Ask, Review}).Draw(rt, "policy")
		// Changed lines are not adjacent, so that each of them becomes a separate hunk.
		for i := 1; i < n; i += 3 {
			switch rapid.IntRange(0, 3).Draw(rt, "change") {
			case 1:
				proposed[i] = fmt.Sprintf("LINE %d 😀 changed\nand more\n", i)
			case 2:
				proposed[i] = ""
			case 3:
				proposed[i] = model[i] + fmt.Sprintf("inserted after %d\n", i)
			}
		}
		p, err := b.tryPropose(policy, "a.txt", strings.Join(proposed, ""))
		if errors.Is(err, ErrNoChange) {
			return
		}
		must(rt, err)
		if policy == Review {
			equal(rt, "applied at once", b.now(open), strings.Join(proposed, ""))
		}
		hunks := slices.Clone(p.Files[0].Hunks)
		lineOf := changedLines(model, proposed)
		equal(rt, "hunks", len(hunks), len(lineOf))
		shown, fate := slices.Clone(model), slices.Clone(model)
		if policy == Review {
			copy(shown, proposed)
		}
		copy(fate, shown)
		for len(hunks) > 0 {
			if open {
				b.typeBetween(rt, uri, fate, lineOf)
			}
			k := rapid.IntRange(0, len(hunks)-1).Draw(rt, "hunk")
			line := lineOf[k]
			d := Decision{HunkID: hunks[k].ID, Action: Reject}
			fate[line] = model[line]
			if rapid.Bool().Draw(rt, "accept") {
				d.Action, fate[line] = Accept, proposed[line]
			}
			if r := b.decide(p, d); len(r.Conflicts) > 0 {
				rt.Fatalf("conflicts %v", r.Conflicts)
			}
			equal(rt, "text", b.now(open), strings.Join(fate, ""))
			hunks, lineOf = slices.Delete(hunks, k, k+1), slices.Delete(lineOf, k, k+1)
		}
		if s := b.get(p.ID).State; s == StateProposed || s == StateConflict {
			rt.Fatalf("state %s", s)
		}
	})
}

func (b *bench) now(open bool) string {
	if open {
		return b.ed.text(b.uri("a.txt"))
	}
	return b.disk("a.txt")
}

func changedLines(a, b []string) []int {
	var out []int
	for i := range a {
		if a[i] != b[i] {
			out = append(out, i)
		}
	}
	return out
}

// typeBetween has the user change, add or delete a line that is not part of any open hunk. It does
// not type exactly where a deleted line may be restored, because the order of the typed text and
// the restored line is not defined.
func (b *bench) typeBetween(rt *rapid.T, uri string, fate []string, hunkLines []int) {
	i := rapid.IntRange(0, len(fate)-1).Draw(rt, "typed line")
	if i%3 == 1 { // a line of a hunk
		return
	}
	for k := i; k < len(fate) && fate[k] == ""; k++ {
		if slices.Contains(hunkLines, k) {
			return
		}
	}
	start := len(strings.Join(fate[:i], ""))
	text := rapid.SampledFrom([]string{"user ä\n", "", "x\ny\n", "USER 😀 typed\n"}).Draw(rt,
		"typed")
	b.ed.type_(uri, start, start+len(fate[i]), text)
	fate[i] = text
}

// TestRestoreLosesNothing mixes edits by the agent and by the user over several turns and restores.
// Each edited line contains a mark that names its author. Every mark of the user must remain, with
// or without a conflict. Without a conflict, the agent's marks must be removed.
func TestRestoreLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const n = 24
		b := newBench(t, map[string]string{"a.txt": strings.Join(numbered(n), "")},
			func(o *Options, _ *fakeEditor) { o.StateDir = "" })
		defer b.Workspace.Close()
		uri := b.uri("a.txt")
		open := rapid.Bool().Draw(rt, "open")
		if open {
			b.ed.open(uri, strings.Join(numbered(n), ""))
		}
		marks := map[string]bool{}
		for turn := range rapid.IntRange(1, 4).Draw(rt, "turns") {
			for k := range rapid.IntRange(1, 3).Draw(rt, "edits") {
				b.agentEdit(rt, open, fmt.Sprintf("t%d", turn),
					fmt.Sprintf("AGENT %d.%d\n", turn, k))
				b.userEdit(rt, open, fmt.Sprintf("USER %d.%d\n", turn, k), marks)
			}
		}
		cps := b.Checkpoints("s")
		before := b.now(open)
		cp := cps[rapid.IntRange(0, len(cps)-1).Draw(rt, "checkpoint")]
		r, err := b.Restore(context.Background(), cp.ID)
		must(rt, err)
		after := b.now(open)
		for m := range marks {
			if strings.Count(after, m) < strings.Count(before, m) {
				rt.Fatalf("lost %q:\n%s\nafter\n%s", m, before, after)
			}
		}
		if len(r.Conflicts) > 0 {
			equal(rt, "a conflict leaves the file", after, before)
			return
		}
		if cp.ID == cps[len(cps)-1].ID && strings.Contains(after, "AGENT") {
			rt.Fatalf("the agent's text still exists:\n%s", after)
		}
		if r.UndoCheckpointID == "" {
			return
		}
		r, err = b.Restore(context.Background(), r.UndoCheckpointID)
		must(rt, err)
		equal(rt, "the restore undone", b.now(open), before)
		equal(rt, "conflicts", len(r.Conflicts), 0)
	})
}

func (b *bench) agentEdit(rt *rapid.T, open bool, turn, text string) {
	lines := strings.SplitAfter(b.now(open), "\n")
	i := rapid.IntRange(0, len(lines)-1).Draw(rt, "agent's line")
	lines[i] = text
	ref := b.ref("a.txt")
	_, err := b.Propose(context.Background(),
		ProposeRequest{SessionID: "s", TurnID: turn, Policy: Auto, Title: "edit",
			Changes: []Change{{Op: Modify, Ref: ref, Data: []byte(strings.Join(lines, ""))}}})
	must(rt, err)
}

func (b *bench) userEdit(rt *rapid.T, open bool, text string, marks map[string]bool) {
	if rapid.Bool().Draw(rt, "user rests") {
		return
	}
	old := b.now(open)
	lines := strings.SplitAfter(old, "\n")
	i := rapid.IntRange(0, len(lines)-1).Draw(rt, "user's line")
	start := len(strings.Join(lines[:i], ""))
	marks[text] = true
	if open {
		b.ed.type_(b.uri("a.txt"), start, start, text)
		return
	}
	must(rt, os.WriteFile(b.path("a.txt"), []byte(old[:start]+text+old[start:]), 0o644))
}

// TestFirstDeciderWins has two clients make opposite decisions about the same hunks at the same
// time. Only the first decision takes effect.
func TestFirstDeciderWins(t *testing.T) {
	for range 30 {
		b := newBench(t, map[string]string{"a.txt": ten},
			func(o *Options, _ *fakeEditor) { o.StateDir = "" })
		p := b.propose(Ask, "a.txt", edited)
		one := 1
		var wg sync.WaitGroup
		results := make([]error, 2)
		for i, action := range []Action{Accept, Reject} {
			wg.Go(func() {
				_, results[i] = b.Decide(context.Background(),
					DecideRequest{ProposalID: p.ID, Revision: &one,
						Decisions: []Decision{{HunkID: "*", Action: action}}})
			})
		}
		wg.Wait()
		var se *StaleError
		switch state := b.get(p.ID).State; {
		case results[0] == nil && errors.As(results[1], &se):
			equal(t, "state", state, StateApplied)
			equal(t, "disk", b.disk("a.txt"), edited)
		case results[1] == nil && errors.As(results[0], &se):
			equal(t, "state", state, StateRejected)
			equal(t, "disk", b.disk("a.txt"), ten)
		default:
			t.Fatalf("results %v", results)
		}
	}
}

// TestCompetingProposals checks two sessions that change the same file. If a proposal of one
// session is accepted, overlapping hunks in the other session's proposal become stale, and its
// remaining hunks move.
func TestCompetingProposals(t *testing.T) {
	for _, open := range []bool{false, true} {
		b := newBench(t, map[string]string{"a.txt": ten})
		if open {
			b.ed.open(b.uri("a.txt"), ten)
		}
		mine := b.propose(Ask, "a.txt",
			strings.Replace(ten, "two\n", "two\ntwo more\ntwo too\n", 1))
		theirs := b.propose(Ask, "a.txt",
			strings.NewReplacer("two", "zwei", "nine", "neun").Replace(ten))
		over := b.propose(Ask, "a.txt", strings.Replace(ten, "two\nthree", "2\n3", 1))
		b.decide(theirs, accept("*"))
		got := b.get(over.ID).Files[0].Hunks[0]
		equal(t, "the overlapping one", got.State, HunkStale)
		got = b.get(mine.ID).Files[0].Hunks[0]
		equal(t, "an insertion beside it", got.State, HunkPending)
		r := b.decide(over, accept(over.Files[0].Hunks[0].ID))
		equal(t, "a conflict", len(r.Conflicts), 1)
		b.decide(mine, accept("*"))
		equal(t, "text", b.now(open), strings.NewReplacer("two\n", "zwei\ntwo more\ntwo too\n",
			"nine", "neun").Replace(ten))
		r = b.decide(over, reject(over.Files[0].Hunks[0].ID))
		equal(t, "rejected", r.Proposal.State, StateRejected)
	}
}

func TestTypingInsideAHunk(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	uri := b.uri("a.txt")
	b.ed.open(uri, ten)
	p := b.propose(Ask, "a.txt", edited)
	id := p.Files[0].Hunks[1].ID
	b.ed.replace(uri, "five", "fiVe")
	got := b.get(p.ID)
	equal(t, "state", got.Files[0].Hunks[1].State, HunkStale)
	equal(t, "revision", got.Revision, 2)
	r := b.decide(p, accept(id))
	equal(t, "conflicts", len(r.Conflicts), 1)
	equal(t, "text", b.ed.text(uri), strings.Replace(ten, "five", "fiVe", 1))
	b.ed.replace(uri, "fiVe", "five")
	equal(t, "found again", b.get(p.ID).Files[0].Hunks[1].State, HunkPending)
	b.ed.type_(uri, 0, 0, "zero\n")
	equal(t, "a shift makes no new revision", b.get(p.ID).Revision, 3)
	equal(t, "shifted", b.get(p.ID).Files[0].Hunks[1].Range.Start.Line, uint32(5))
	r = b.decide(p, accept("*"))
	equal(t, "state", r.Proposal.State, StateApplied)
	equal(t, "text", b.ed.text(uri), "zero\n"+edited)
}

func TestDocumentGoneBetween(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten})
	uri := b.uri("a.txt")
	b.ed.open(uri, ten+"unsaved\n")
	p := b.propose(Ask, "a.txt", edited+"unsaved\n", "b.txt", edited)
	b.ed.close(uri)
	must(t, os.Remove(b.path("b.txt")))
	r := b.decide(p, accept("*"))
	equal(t, "the closed one is written to disk", b.disk("a.txt"), edited)
	equal(t, "conflicts", len(r.Conflicts), 3)
	if _, err := os.Stat(b.path("b.txt")); err == nil {
		t.Fatal("a deleted file was restored")
	}
	b.ed.open("untitled:1", ten)
	ref, err := b.Resolve("", "untitled:1")
	must(t, err)
	p, err = b.Propose(context.Background(),
		ProposeRequest{SessionID: "s", Policy: Ask,
			Changes: []Change{{Op: Modify, Ref: ref, Data: []byte(edited)}}})
	must(t, err)
	b.ed.close("untitled:1")
	equal(t, "untitled closed", len(b.decide(p, accept("*")).Conflicts), 3)
}
