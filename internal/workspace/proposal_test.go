package workspace

import (
	"context"
	"strings"
	"testing"
)

const ten = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

var edited = strings.NewReplacer("two", "TWO", "five", "FIVE", "nine", "NINE").Replace(ten)

func TestAskHunkByHunk(t *testing.T) {
	for _, open := range []bool{false, true} {
		b := newBench(t, map[string]string{"a.txt": ten})
		if open {
			b.ed.open(b.uri("a.txt"), ten)
		}
		p := b.propose(Ask, "a.txt", edited)
		hs := p.Files[0].Hunks
		equal(t, "hunks", len(hs), 3)
		out := make(chan Outcome, 1)
		go func() { o, _ := b.Await(context.Background(), p.ID); out <- o }()
		r := b.decide(p, accept(hs[0].ID),
			Decision{HunkID: hs[1].ID, Action: Reject, Comment: "keep the retry"})
		equal(t, "state after two", r.Proposal.State, StateProposed)
		mine := "nine and a half\n"
		r = b.decide(p, Decision{HunkID: hs[2].ID, Action: Accept, NewText: &mine})
		equal(t, "state", r.Proposal.State, StatePartial)
		want := strings.NewReplacer("two", "TWO", "nine\n", mine).Replace(ten)
		got := b.disk("a.txt")
		if open {
			got = b.ed.text(b.uri("a.txt"))
			equal(t, "disk untouched", b.disk("a.txt"), ten)
			equal(t, "requests", len(b.ed.requests), 2)
		}
		equal(t, "text", got, want)
		equal(t, "applied sha", r.Applied[0].SHA256, HashOf([]byte(want)))
		o := <-out
		wantText := "applied 2/3 hunks; hunk 2 rejected: \"keep the retry\"; hunk 3 changed by the user:\n"
		if !strings.HasPrefix(o.Text, wantText) ||
			!strings.Contains(o.Text, "-NINE\n+nine and a half") {
			t.Fatalf("outcome %q", o.Text)
		}
		equal(t, "events", strings.Join(b.kinds(), ","),
			"created 1 proposed,updated 2 proposed,closed 3 partiallyApplied")
	}
}

func TestAutoAndReview(t *testing.T) {
	for _, open := range []bool{false, true} {
		b := newBench(t, map[string]string{"a.txt": ten})
		now := func() string { return b.disk("a.txt") }
		if open {
			b.ed.open(b.uri("a.txt"), ten)
			now = func() string { return b.ed.text(b.uri("a.txt")) }
		}
		p := b.propose(Auto, "a.txt", edited)
		equal(t, "state", p.State, StateApplied)
		equal(t, "text", now(), edited)
		p = b.propose(Review, "a.txt", strings.ReplaceAll(edited, "e", "E"))
		equal(t, "state", p.State, StateProposed)
		equal(t, "placement", p.Files[0].Placement, Applied)
		equal(t, "text", now(), strings.ReplaceAll(edited, "e", "E"))
		b.decide(p, reject("*"))
		equal(t, "undone", now(), edited)
		equal(t, "state", b.get(p.ID).State, StateRejected)
		if o := b.Outcomes("s", false); len(o) != 1 || !strings.Contains(o[0], "applied 0/") {
			t.Fatalf("outcomes %q", o)
		}
		equal(t, "reported once", len(b.Outcomes("s", true)), 0)
	}
}

// TestMovedHunk checks that if the user moves a hunk's lines below another hunk by cutting and
// pasting, the hunk stays the same, and the views and the decision follow it.
func TestMovedHunk(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	uri := b.uri("a.txt")
	b.ed.open(uri, ten)
	p := b.propose(Ask, "a.txt", edited)
	b.ed.replace(uri, "two\n", "")
	b.ed.replace(uri, "seven\n", "seven\ntwo\n")
	moved := "one\nthree\nfour\nFIVE\nsix\nseven\nTWO\neight\nNINE\nten\n"
	_, proposed, err := b.Sides(p.ID, uri)
	must(t, err)
	equal(t, "proposed", string(proposed), moved)
	q, diff, err := b.Get(p.ID)
	must(t, err)
	equal(t, "hunks", states(q), "pending pending pending")
	if !strings.Contains(diff, " seven\n-two\n+TWO\n eight\n") {
		t.Fatal(diff)
	}
	equal(t, "conflicts", len(b.decide(&q, accept("*")).Conflicts), 0)
	equal(t, "text", b.ed.text(uri), moved)
}

// An accepted change is shown even if its text was changed afterwards, or merged with that of
// another change.
func TestChangedAcceptedHunksAreShown(t *testing.T) {
	text := []byte("one\nTWO and more\nthree\nFOUR\n")
	accepted := func(start, end int, old, new string) *hunk {
		return &hunk{start: start, end: end, old: []byte(old), new: []byte(new),
			phase: hunkAccepted}
	}
	for name, c := range map[string]*change{
		"longer": {op: Modify, applied: true, text: text,
			hunks: []*hunk{accepted(4, 17, "two\n", "TWO\n"),
				accepted(23, 28, "four\n", "FOUR\n")}},
		"over": {op: Modify, text: text,
			hunks: []*hunk{accepted(4, 17, "two\n", "TWO\n"), accepted(10, 23, "three\n", "3\n")}},
		"beyond": {op: Modify, text: text,
			hunks: []*hunk{accepted(4, 17, "two\n", "TWO\n"),
				accepted(20, 60, "four\n", "FOUR\n")}},
	} {
		old, hunks := c.without(func(*hunk) bool { return true })
		diff := unified([]side{{oldName: "a", newName: "a", byHunks: true, old: old, hunks: hunks}})
		if !strings.HasPrefix(string(old), "one\ntwo\n") ||
			!strings.Contains(diff, "-two\n+TWO\n") {
			t.Errorf("%s: %q\n%s", name, old, diff)
		}
	}
}
