package workspace

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// TestReadDuringApplyLosesNothing covers the case in which another program changes a file while one
// of its collected hunks is being applied. A read by the session then moves the pending hunks to
// the new text. The result that was computed from the old text must not overwrite the new text.
// Instead, the hunk is applied to the new text.
func TestReadDuringApplyLosesNothing(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Collect, "a.txt", edited)
	changed := false
	files.AtStep = func(at string) {
		if at != "intent kept" || changed {
			return
		}
		changed = true
		must(t, os.WriteFile(b.path("a.txt"), []byte(ten+"theirs\n"), 0o600))
		_, err := b.ReadFor(t.Context(), p.SessionID, b.ref("a.txt"))
		must(t, err)
	}
	defer func() { files.AtStep = func(string) {} }()
	b.decide(p, accept(p.Files[0].Hunks[0].ID))
	equal(t, "changed", changed, true)
	equal(t, "a.txt", b.disk("a.txt"), strings.Replace(ten, "two", "TWO", 1)+"theirs\n")
}

// If a session repeatedly reads a file while the file's hunks are applied and another program
// appends lines, no appended line is lost, and the race detector reports nothing.
func TestReadsBesideDecisions(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Collect, "a.txt", edited)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				// The file may be partially written.
				_, _ = b.ReadFor(t.Context(), p.SessionID, b.ref("a.txt"))
			}
		}
	}()
	want := ten
	for i, h := range p.Files[0].Hunks {
		want += fmt.Sprintf("theirs %d\n", i)
		f, err := os.OpenFile(b.path("a.txt"), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = fmt.Fprintf(f, "theirs %d\n", i)
		must(t, errors.Join(err, f.Close()))
		b.decide(p, accept(h.ID))
	}
	close(stop)
	<-ended
	equal(t, "a.txt", b.disk("a.txt"), strings.Replace(want, ten, edited, 1))
}
