package workspace

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// While a decision is being applied, the stored proposal still contains the intent, so that the
// outcome can be determined after a crash.
func TestIntentStaysWhileOthersStore(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Collect, "a.txt", edited)
	hs := p.Files[0].Hunks
	intent := func() string {
		data, err := os.ReadFile(filepath.Join(b.sessionDir("proposals", "s"), p.ID+".json"))
		must(t, err)
		var s storedProposal
		must(t, json.Unmarshal(data, &s))
		return s.Changes[0].Intent
	}
	b.decide(p, accept(hs[0].ID))
	equal(t, "intent after the decision", intent(), "")
	defer func() { files.AtStep = func(string) {} }()
	met := 0
	files.AtStep = func(at string) {
		if at != "intent kept" {
			return
		}
		met++
		before := intent()
		equal(t, "reported meanwhile", len(b.Outcomes("s", true)), 1)
		equal(t, "an intent", before != "", true)
		equal(t, "the intent is still stored", intent(), before)
	}
	b.decide(p, accept(hs[1].ID))
	equal(t, "met", met, 1)
	equal(t, "intent after the decision", intent(), "")
}

// If a request is canceled while it loads a session, the session's proposals stay unchanged.
func TestCancelledLoadKeepsProposals(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	b.Workspace.Close()
	b.start(b.opt)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must(t, b.LoadSession(ctx, "s"))
	equal(t, "hunks", states(b.get(p.ID)), "pending pending pending")
}

// If a file has the intended content after a restart, its review stays open. Only the user ends a
// review.
func TestReviewOutlivesARestart(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	b.ed.open(b.uri("a.txt"), ten)
	p := b.propose(Review, "a.txt", edited)
	b.ed.save(b.uri("a.txt"))
	b.ed.type_(b.uri("a.txt"), 0, 0, "typed\n")
	b.moved("cor", "a.txt", "b.txt")
	equal(t, "moved", b.get(p.ID).Files[0].URI, b.uri("b.txt"))
	b.ed.close(b.uri("b.txt")) // the typed text is lost when the editor closes the document
	b.Workspace.Close()
	b.start(b.opt)
	must(t, b.LoadSession(context.Background(), "s"))
	equal(t, "hunks", states(b.get(p.ID)), "pending pending pending")
}
