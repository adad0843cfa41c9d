package agent

import "errors"

// This file contains every change to a session's run state. TestOnlyTheTableChangesTheRunState
// checks that no other file assigns the run state.
//
// The table shows the state that follows each state after each event. A dash means that the event
// changes nothing. "busy", "paused!" and "closed!" mean that the event is refused with ErrNotIdle,
// ErrPaused or ErrClosed. "never" means that the event cannot happen, because the engine raises it
// itself and only in other states. A plus sign means that the session is also paused.
//
//              start   end     abort    compact     compacted pause       resume     hold  close
//  idle        running never   never    compacting  never     paused      -          never closed
//  paused      paused! never   never    compacting+ never     -           idle       never closed+
//  running     busy    idle    aborting busy        never     pausing     -          never closing
//  pausing     busy    paused  halting  busy        never     -           running    held  closing+
//  held        paused! paused  halting  busy        never     -           running    never closing+
//  aborting    busy    idle    -        busy        never     halting     -          never closing
//  halting     busy    paused  -        busy        never     -           aborting   never closing+
//  compacting  busy    never   never    busy        idle      compacting+ -          never closing
//  compacting+ busy    never   never    busy        paused    -           compacting never closing+
//  closing     closed! closed  -        closed!     closed    closed!     closed!    never -
//  closing+    closed! closed+ -        closed!     closed+   closed!     closed!    never -
//  closed      closed! never   never    closed!     never     closed!     closed!    never -
//  closed+     closed! never   never    closed!     never     closed!     closed!    never -

// runState is the activity of a session. It is more detailed than the Status that clients see.
type runState uint8

const (
	runIdle             runState = iota // a prompt starts a turn
	runPaused                           // no turn starts
	runRunning                          // a turn runs
	runPausing                          // a turn runs until its next boundary
	runHeld                             // a turn waits at its boundary for the end of the pause
	runAborting                         // an aborted turn is ending
	runHalting                          // like runAborting, but the session is paused afterwards
	runCompacting                       // Compact runs
	runCompactingPaused                 // like runCompacting, but the session is paused afterwards
	runClosing                          // the last turn or Compact is ending
	runClosingPaused                    // like runClosing, for a paused session
	runClosed                           // nothing runs, and nothing will run
	runClosedPaused                     // like runClosed, for a paused session
	runStates           = iota
)

// runEvent is an event that may change the run state of a session.
type runEvent uint8

const (
	runStart     runEvent = iota // a turn begins
	runEnd                       // the turn has ended
	runAbort                     // the turn must end; an Abort of a Compact only cancels it
	runCompact                   // Compact begins
	runCompacted                 // Compact has ended
	runPause
	runResume
	runHold // the turn waits at its boundary
	runClose
	runEvents = iota
)

// errNever reports an event that cannot happen in a state.
var errNever = errors.New("the event cannot happen in this state")

// runMove is the effect of an event in a state: the next state, or the error with which the event
// is refused.
type runMove struct {
	to      runState
	refused error
}

type runRow = [runEvents]runMove

func moveTo(s runState) runMove { return runMove{to: s} }

// The moves that do not change the state.
var (
	refuseBusy   = runMove{refused: ErrNotIdle}
	refusePaused = runMove{refused: ErrPaused}
	refuseClosed = runMove{refused: ErrClosed}
	refuseNever  = runMove{refused: errNever}
)

// runMoves is the transition table of sessions.
var runMoves = [runStates]runRow{
	runIdle: {
		runStart: moveTo(runRunning), runEnd: refuseNever, runAbort: refuseNever,
		runCompact: moveTo(runCompacting), runCompacted: refuseNever,
		runPause: moveTo(runPaused), runResume: moveTo(runIdle), runHold: refuseNever,
		runClose: moveTo(runClosed),
	},
	runPaused: {
		runStart: refusePaused, runEnd: refuseNever, runAbort: refuseNever,
		runCompact: moveTo(runCompactingPaused), runCompacted: refuseNever,
		runPause: moveTo(runPaused), runResume: moveTo(runIdle), runHold: refuseNever,
		runClose: moveTo(runClosedPaused),
	},
	runRunning:          turnRow(runIdle, runAborting, runPausing, runRunning, runClosing),
	runPausing:          pausingRow(),
	runHeld:             heldRow(),
	runAborting:         turnRow(runIdle, runAborting, runHalting, runAborting, runClosing),
	runHalting:          turnRow(runPaused, runHalting, runHalting, runAborting, runClosingPaused),
	runCompacting:       compactRow(runIdle, runClosing),
	runCompactingPaused: compactRow(runPaused, runClosingPaused),
	runClosing:          endingRow(runClosing, runClosed),
	runClosingPaused:    endingRow(runClosingPaused, runClosedPaused),
	runClosed:           closedRow(runClosed, refuseNever, refuseNever),
	runClosedPaused:     closedRow(runClosedPaused, refuseNever, refuseNever),
}

// turnRow returns the row of a state in which a turn is running.
func turnRow(end, abort, pause, resume, closes runState) runRow {
	return runRow{
		runStart: refuseBusy, runEnd: moveTo(end), runAbort: moveTo(abort),
		runCompact: refuseBusy, runCompacted: refuseNever,
		runPause: moveTo(pause), runResume: moveTo(resume), runHold: refuseNever,
		runClose: moveTo(closes),
	}
}

// pausingRow returns the row of a turn that waits at its next boundary.
func pausingRow() runRow {
	row := turnRow(runPaused, runHalting, runPausing, runRunning, runClosingPaused)
	row[runHold] = moveTo(runHeld)
	return row
}

// heldRow returns the row of a turn that waits for the end of the pause.
func heldRow() runRow {
	row := turnRow(runPaused, runHalting, runHeld, runRunning, runClosingPaused)
	row[runStart] = refusePaused
	return row
}

// compactRow returns the row of a state in which Compact is running.
func compactRow(end, closes runState) runRow {
	return runRow{
		runStart: refuseBusy, runEnd: refuseNever, runAbort: refuseNever,
		runCompact: refuseBusy, runCompacted: moveTo(end),
		runPause: moveTo(runCompactingPaused), runResume: moveTo(runCompacting),
		runHold: refuseNever, runClose: moveTo(closes),
	}
}

// endingRow returns the row of a state after Close in which something is still running.
func endingRow(self, end runState) runRow { return closedRow(self, moveTo(self), moveTo(end)) }

// closedRow returns the row of a state after Close.
func closedRow(self runState, abort, end runMove) runRow {
	return runRow{
		runStart: refuseClosed, runEnd: end, runAbort: abort,
		runCompact: refuseClosed, runCompacted: end,
		runPause: refuseClosed, runResume: refuseClosed, runHold: refuseNever,
		runClose: moveTo(self),
	}
}

// runShown maps each state to the status that clients see. A turn with a call that waits for the
// user is SessionAwaiting instead of SessionRunning.
var runShown = [runStates]Status{
	runIdle: SessionIdle, runPaused: SessionPaused,
	runRunning: SessionRunning, runPausing: SessionRunning, runHeld: SessionPaused,
	runAborting: SessionRunning, runHalting: SessionRunning,
	runCompacting: SessionRunning, runCompactingPaused: SessionRunning,
	runClosing: SessionRunning, runClosingPaused: SessionRunning,
	runClosed: SessionIdle, runClosedPaused: SessionPaused,
}

// refuses returns the error with which the state refuses an event, or nil if it allows the event.
func (r runState) refuses(e runEvent) error { return runMoves[r][e].refused }

// busy reports whether a turn is open or Compact is running.
func (r runState) busy() bool { return runShown[r] == SessionRunning || r == runHeld }

// holds reports whether a message that arrives in this state must wait only for the end of the
// pause.
func (r runState) holds() bool { return r == runPaused || r == runCompactingPaused }

// closed reports whether Close was called.
func (r runState) closed() bool { return runMoves[r][runPause].refused != nil }

// goesOn reports whether another turn may follow a turn that ends in this state.
func (r runState) goesOn() bool { return r == runRunning || r == runPausing }

// onLocked applies an event and reports whether the state changed. A refused event changes nothing.
// The caller must hold mu, except while a session is being restored and no other goroutine can use
// it.
func (s *Session) onLocked(e runEvent) (changed bool, err error) {
	move := runMoves[s.state][e]
	if move.refused != nil {
		return false, move.refused
	}
	changed = move.to != s.state
	s.state = move.to
	return changed, nil
}

// mustLocked is like onLocked, for an event that the engine raises itself. If the event is refused,
// the engine has a bug, which mustLocked reports.
func (s *Session) mustLocked(e runEvent) (changed bool) {
	changed, err := s.onLocked(e)
	if err != nil {
		s.bug("session %s: event %d in state %d: %v", s.opts.ID, e, s.state, err)
	}
	return changed
}
