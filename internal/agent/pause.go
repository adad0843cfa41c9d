package agent

import (
	"context"
	"errors"
	"slices"
)

// pausing records what a pause stopped and what continues after the pause. The session's lock
// guards it.
type pausing struct {
	over chan struct{} // closed by Resume; nil if no turn waits for the end of the pause
	// held is set if the daemon ended while a turn was paused. Resume then continues that turn.
	held    bool
	resumed *turn        // the turn that Resume started, until Continue has returned it
	unsaid  *TurnOptions // options of the next turn, if that turn begins without a message
}

// Pause keeps turns from starting. A running turn waits at its next boundary, and stays open.
func (s *Session) Pause() error { return s.setPaused(runPause) }

// Resume ends a pause. An open turn continues. If no turn is open, Resume starts a turn with the
// messages that arrived during the pause, or continues a turn that the end of the daemon
// interrupted. If Continue is called immediately afterwards, it returns the turn that Resume
// started.
func (s *Session) Resume() error { return s.setPaused(runResume) }

func (s *Session) setPaused(e runEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed, err := s.onLocked(e); err != nil || !changed {
		return err
	}
	if e == runPause {
		s.pause.resumed = nil
		s.unholdLocked()
	} else if s.pause.over != nil {
		close(s.pause.over)
		s.pause.over = nil
	}
	if s.resumedLocked() {
		s.goOnLocked()
		return nil
	}
	s.changedLocked()
	return nil
}

// resumedLocked reports whether a pause has ended and the session is idle, but the work that the
// pause delayed has not started yet.
func (s *Session) resumedLocked() bool { return s.state == runIdle && s.heldLocked() }

// heldLocked reports whether a pause delays any work. Messages that were removed from the queue do
// not count.
func (s *Session) heldLocked() bool {
	return s.pause.held ||
		slices.ContainsFunc(
			slices.Concat(s.inbox.queue, s.inbox.notes),
			func(e *entry) bool { return e.held },
		)
}

// unholdLocked clears the record of delayed work. It is called when that work or a new pause
// begins.
func (s *Session) unholdLocked() {
	s.pause.held = false
	for _, e := range slices.Concat(s.inbox.queue, s.inbox.notes) {
		e.held = false
	}
}

// goOnLocked starts the work that a pause delayed.
func (s *Session) goOnLocked() {
	s.unholdLocked()
	id, err := s.continueLocked()
	if err != nil {
		s.changedLocked()
		return
	}
	if s.turn != nil && s.turn.id == id {
		s.pause.resumed = s.turn
	}
}

// hold keeps a turn open at a boundary while the session is paused. It returns when the session is
// resumed or the turn is aborted. It reports whether the turn ends because the daemon ends. In this
// case, a resume after the restart continues the turn.
func (s *Session) hold(t *turn) (ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.state == runPausing && t.ctx.Err() == nil {
		t.started() // a turn that waits must not keep other turns from starting
		over := make(chan struct{})
		s.pause.over = over
		s.mustLocked(runHold)
		s.changedLocked()
		s.mu.Unlock()
		select {
		case <-over:
		case <-t.ctx.Done():
		}
		s.mu.Lock()
		s.pause.over = nil
		var r interface{ Restarts() bool }
		if errors.As(context.Cause(t.ctx), &r) && r.Restarts() {
			return true
		}
	}
	return false
}

// intercepted reports whether a pause began while the turn's step was being determined. The turn
// then waits and determines the step again, because the settings may change during the pause.
func (s *Session) intercepted(t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != runPausing || t.ctx.Err() != nil {
		return false
	}
	s.commitStepLocked(t)
	return true
}
