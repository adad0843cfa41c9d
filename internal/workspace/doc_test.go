package workspace

import (
	"context"
	"os"
	"strings"
	"testing"
)

// TestReviewPage checks that the examples and figures in docs/use/review.md match the code.
func TestReviewPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/use/review.md")
	must(t, err)
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	mine := "nine and a half\n"
	h := p.Files[0].Hunks
	b.decide(p, accept(h[0].ID), Decision{HunkID: h[1].ID, Action: Reject,
		Comment: "keep the retry"}, Decision{HunkID: h[2].ID, Action: Accept, NewText: &mine})
	o, err := b.Await(context.Background(), p.ID)
	must(t, err)
	if !strings.Contains(string(page), "```\n"+strings.TrimSpace(o.Text)+"\n```") {
		t.Fatalf("the page does not show this outcome:\n%s", o.Text)
	}
	settings, err := os.ReadFile("../../docs/reference/configuration.md")
	must(t, err)
	for said, set := range map[string]string{
		"kept for 90 days": "| `checkpoints.maxAgeDays` | whole number | `90` |",
		"up to 1 GiB":      "| `checkpoints.maxBytes` | whole number | `1073741824` |",
	} {
		if !strings.Contains(string(page), said) || !strings.Contains(string(settings), set) {
			t.Fatalf("the page and the settings have different checkpoint limits: %q, %q", said,
				set)
		}
	}
	for _, policy := range []Policy{Ask, Review, Collect, Auto, Confirm} {
		if !strings.Contains(string(page), "| `"+string(policy)+"`") {
			t.Fatalf("the page does not name %s", policy)
		}
	}
}
