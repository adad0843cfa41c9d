package workspace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	phaseNames = strings.Fields("pending applying stale outdone missing accepted rejected")
	eventNames = strings.Fields("begin release typed competed found lost missed accept reject")
)

// TestHunkMovesAreAsDrawn checks each cell of the table at the top of states.go, which specifies
// how hunks change their state.
func TestHunkMovesAreAsDrawn(t *testing.T) {
	rows := drawing(t, "begin ")
	equal(t, "events", strings.Join(rows[0], " "), strings.Join(eventNames, " "))
	equal(t, "rows", len(rows), hunkPhases+1)
	for ph, row := range rows[1:] {
		equal(t, "phase", row[0], phaseNames[ph])
		equal(t, "cells of "+row[0], len(row), hunkEvents+1)
		for e, cell := range row[1:] {
			h := &hunk{phase: hunkPhase(ph)}
			moved := h.on(hunkEvent(e))
			want := cell
			if cell == "-" {
				want = row[0]
			}
			equal(t, row[0]+" on "+eventNames[e], phaseNames[h.phase], want)
			equal(t, row[0]+" on "+eventNames[e]+" moves", moved, cell != "-")
		}
	}
}

// drawing returns the words of a table in the comments of states.go. The table starts at the line
// with the given prefix.
func drawing(t *testing.T, first string) (rows [][]string) {
	src, err := os.ReadFile("states.go")
	must(t, err)
	for line := range strings.Lines(string(src)) {
		words := strings.TrimSpace(strings.TrimPrefix(line, "//"))
		switch {
		case len(rows) == 0 && !strings.HasPrefix(words, first):
		case words == "":
			return rows
		default:
			rows = append(rows, strings.Fields(words))
		}
	}
	return rows
}

// Once clients have seen a hunk as accepted or rejected, its state never changes. An open hunk can
// always be accepted or rejected.
func TestDecidedHunksStay(t *testing.T) {
	decided := map[hunkEvent]HunkState{hunkAccept: HunkAccepted, hunkReject: HunkRejected}
	for ph := range hunkPhase(hunkPhases) {
		for e := range hunkEvent(hunkEvents) {
			h := &hunk{phase: ph}
			open, was := h.open(), h.state()
			h.on(e)
			if !open && h.state() != was {
				t.Errorf("%s on %s: a decided hunk is %s", phaseNames[ph], eventNames[e], h.state())
			}
			if want := decided[e]; open && want != "" {
				equal(t, phaseNames[ph]+" on "+eventNames[e], h.state(), want)
			}
		}
		if hunkShown[ph] == "" {
			t.Errorf("%s has no state for clients", phaseNames[ph])
		}
		back := storedPhase(hunkShown[ph], ph == hunkMissing)
		equal(t, "state after a restart", hunkShown[back], hunkShown[ph])
	}
}

func TestProposalMoves(t *testing.T) {
	final := []proposalPhase{proposalWithdrawn, proposalSuperseded}
	for from := range proposalPhase(proposalPhases) {
		for to := range proposalPhase(proposalPhases) {
			p := &proposal{phase: from}
			want := from != to && !slices.Contains(final, from)
			if from.closed() && (!to.closed() || slices.Contains(final, to)) {
				want = false // a closed proposal is neither reopened nor withdrawn
			}
			moved := p.become(to)
			name := string(proposalShown[from]) + " to " + string(proposalShown[to])
			equal(t, name, moved, want)
			if end := from; !moved {
				equal(t, name+" stays", p.phase, end)
			}
		}
		if proposalShown[from] == "" {
			t.Errorf("phase %d has no state for clients", from)
		}
		again := storedProposalPhase(proposalShown[from], from.closed())
		equal(t, "phase after a restart", again, from)
	}
}

// Only states.go assigns phases. Otherwise, its tables would be incomplete.
func TestOnlyTheTableChangesPhases(t *testing.T) {
	names, err := filepath.Glob("*.go")
	must(t, err)
	assigned := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			as, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for _, left := range as.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "phase" {
					if assigned++; name != "states.go" {
						t.Errorf("%s assigns a phase; use on or become", name)
					}
				}
			}
			return true
		})
	}
	equal(t, "assignments", assigned, 2)
}
