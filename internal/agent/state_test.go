package agent

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	stateNames = strings.Fields("idle paused running pausing held aborting halting " +
		"compacting compacting+ closing closing+ closed closed+")
	runEventNames = strings.Fields("start end abort compact compacted pause resume hold close")
	refusals      = map[string]error{
		"busy": ErrNotIdle, "paused!": ErrPaused, "closed!": ErrClosed, "never": errNever,
	}
)

// The table at the top of state.go specifies the run states. This test checks each of its cells.
func TestRunStatesMoveAsDrawn(t *testing.T) {
	rows := drawnStates(t)
	eq(t, "events", strings.Join(rows[0], " "), strings.Join(runEventNames, " "))
	if len(rows) != runStates+1 || len(stateNames) != runStates || len(runEventNames) != runEvents {
		t.Fatalf("%d rows, %d names for %d states", len(rows), len(stateNames), runStates)
	}
	for from, row := range rows[1:] {
		eq(t, "state", row[0], stateNames[from])
		if len(row) != runEvents+1 {
			t.Fatalf("%s has %d cells", row[0], len(row))
		}
		for e, cell := range row[1:] {
			tryMove(t, runState(from), runEvent(e), cell)
		}
	}
}

// tryMove applies an event first to the state alone and then as the engine does. The engine must
// report events that are impossible in a state.
func tryMove(t *testing.T, from runState, e runEvent, cell string) {
	t.Helper()
	name := stateNames[from] + " on " + runEventNames[e]
	want := cell
	refused, isRefusal := refusals[cell]
	if cell == "-" || isRefusal {
		want = stateNames[from]
	}
	s := &Session{state: from}
	changed, err := s.onLocked(e)
	eq(t, name, stateNames[s.state], want)
	if !errors.Is(err, refused) || refused == nil && err != nil {
		t.Errorf("%s returns %v, want %v", name, err, refused)
	}
	if changed != (want != stateNames[from]) {
		t.Errorf("%s changes the state: %v", name, changed)
	}
	bugs := 0
	s = &Session{state: from, opts: Options{Bug: func(string, ...any) { bugs++ }}}
	s.mustLocked(e)
	eq(t, name+" by the engine", stateNames[s.state], want)
	if (bugs > 0) != isRefusal {
		t.Errorf("%s by the engine reports %d defects", name, bugs)
	}
}

func drawnStates(t *testing.T) (rows [][]string) {
	src, err := os.ReadFile("state.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(src)) {
		words := strings.Fields(strings.TrimPrefix(line, "//"))
		switch {
		case len(rows) == 0 && (len(words) == 0 || words[0] != "start"):
		case len(words) < 2:
			return rows
		default:
			rows = append(rows, words)
		}
	}
	return rows
}

// Every state has a status that clients see, and the helper methods agree with the table.
func TestRunStatesAreConsistent(t *testing.T) {
	for s := range runState(runStates) {
		name := stateNames[s]
		isPaused := strings.HasSuffix(name, "+") || name == "paused" ||
			name == "pausing" || name == "held" || name == "halting"
		if runShown[s] == "" {
			t.Errorf("%s has no status for clients", name)
		}
		if s.closed() != strings.HasPrefix(name, "clos") {
			t.Errorf("%s is closed: %v", name, s.closed())
		}
		for _, e := range []runEvent{runEnd, runCompacted} {
			m := runMoves[s][e]
			if m.refused == nil && (!s.busy() || m.to.busy()) {
				t.Errorf("%s leads from %s to %s", runEventNames[e], name, stateNames[m.to])
			}
			if m.refused == nil && (runShown[m.to] == SessionPaused) != isPaused {
				t.Errorf("%s in %s loses or adds a pause", runEventNames[e], name)
			}
		}
		starts := s.refuses(runStart) == nil
		if starts && (s.busy() || isPaused || s.closed()) || s.holds() && starts {
			t.Errorf("a turn may start in %s", name)
		}
	}
}

// After a session is closed, Pause, Resume, Compact and Continue return ErrClosed.
func TestClosedSessionRefuses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(), nil)
		r.close()
		_, compact := r.s.Compact(context.Background(), "")
		_, goOn := r.s.Continue()
		for what, err := range map[string]error{
			"Pause": r.s.Pause(), "Resume": r.s.Resume(), "Compact": compact, "Continue": goOn,
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// Only state.go may assign the run state. Otherwise, its table would be incomplete.
func TestOnlyTheTableChangesTheRunState(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	assigned := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			as, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for _, left := range as.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "state" {
					if assigned++; name != "state.go" {
						t.Errorf("%s assigns the run state; use onLocked or mustLocked", name)
					}
				}
			}
			return true
		})
	}
	if assigned != 1 {
		t.Errorf("%d assignments of the run state", assigned)
	}
}
