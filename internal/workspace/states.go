package workspace

import "slices"

// This file contains all code that changes the state of a hunk or a proposal. No other file assigns
// to a field named phase, which TestOnlyTheTableChangesPhases checks. Only the code that loads a
// hunk or a proposal sets the field in a literal.
//
// The phases of a hunk are finer than the HunkState that clients see. The table shows the moves
// between phases, by event. A dash means that the event changes nothing.
//
//	            begin     release  typed  competed  found    lost   missed   accept    reject
//	pending     applying  -        stale  outdone   -        stale  missing  accepted  rejected
//	applying    -         pending  -      -         -        stale  missing  accepted  rejected
//	stale       -         -        -      -         pending  -      missing  accepted  rejected
//	outdone     -         -        -      -         pending  -      missing  accepted  rejected
//	missing     -         -        -      -         -        -      -        accepted  rejected
//	accepted    -         -        -      -         -        -      -        -         -
//	rejected    -         -        -      -         -        -      -        -         -

// hunkPhase is the state of a hunk.
type hunkPhase uint8

const (
	hunkPending  hunkPhase = iota // its text is in the file, and it waits for a decision
	hunkApplying                  // a decision is being applied: changes to its text are expected
	hunkStale                     // its text is gone; the hunk waits until the text is found again
	hunkOutdone                   // stale because of another proposal, until its position changes
	// The hunk's text was never written to the file, but the rest of the change was.
	hunkMissing
	hunkAccepted
	hunkRejected
	hunkPhases = iota
)

// hunkEvent is an event that affects a hunk.
type hunkEvent uint8

const (
	hunkBegin    hunkEvent = iota // an apply begins
	hunkRelease                   // the apply ended without a result for the hunk
	hunkTyped                     // a change touched its text
	hunkCompeted                  // like typed, during another proposal's apply
	hunkFound                     // its text occurs in the file exactly once
	hunkLost                      // its file is gone or does not have the text that the apply needs
	hunkMissed                    // the file was written without the hunk
	hunkAccept
	hunkReject
	hunkEvents = iota
)

// hunkMoves is the transition table of hunks. An event that has no entry changes nothing.
var hunkMoves = [hunkPhases]map[hunkEvent]hunkPhase{
	hunkPending: {
		hunkBegin: hunkApplying, hunkTyped: hunkStale, hunkCompeted: hunkOutdone,
		hunkLost:   hunkStale,
		hunkMissed: hunkMissing, hunkAccept: hunkAccepted, hunkReject: hunkRejected,
	},
	hunkApplying: {
		hunkRelease: hunkPending, hunkLost: hunkStale,
		hunkMissed: hunkMissing, hunkAccept: hunkAccepted, hunkReject: hunkRejected,
	},
	hunkStale: {
		hunkFound: hunkPending, hunkMissed: hunkMissing,
		hunkAccept: hunkAccepted, hunkReject: hunkRejected,
	},
	hunkOutdone: {
		hunkFound: hunkPending, hunkMissed: hunkMissing,
		hunkAccept: hunkAccepted, hunkReject: hunkRejected,
	},
	hunkMissing: {hunkAccept: hunkAccepted, hunkReject: hunkRejected},
}

// hunkShown maps each phase to the state that clients see.
var hunkShown = [hunkPhases]HunkState{
	hunkPending: HunkPending, hunkApplying: HunkPending,
	hunkStale: HunkStale, hunkOutdone: HunkStale, hunkMissing: HunkStale,
	hunkAccepted: HunkAccepted, hunkRejected: HunkRejected,
}

// on applies an event and reports whether the phase changed. The caller holds mu.
func (h *hunk) on(e hunkEvent) bool {
	next, ok := hunkMoves[h.phase][e]
	if ok {
		h.phase = next
	}
	return ok
}

// because works like on with a reason, which is stored if the hunk is stale afterwards. The caller
// holds mu.
func (h *hunk) because(e hunkEvent, reason string) bool {
	changed := h.on(e)
	if h.state() == HunkStale {
		h.reason = reason
	}
	return changed
}

// state returns the state of the hunk that clients see. The caller holds mu.
func (h *hunk) state() HunkState { return hunkShown[h.phase] }

// open reports whether the hunk is undecided. The caller holds mu.
func (h *hunk) open() bool { return h.state() == HunkPending || h.state() == HunkStale }

// still reports whether the hunk's range contains exactly its text. The caller holds mu.
func (h *hunk) still() bool { return h.phase == hunkPending }

// storedPhase returns the phase of a hunk that was stored. No apply survives a restart.
func storedPhase(s HunkState, missing bool) hunkPhase {
	switch {
	case s == HunkAccepted:
		return hunkAccepted
	case s == HunkRejected:
		return hunkRejected
	case missing:
		return hunkMissing
	case s == HunkPending:
		return hunkPending
	}
	return hunkStale
}

// A proposal is open, in conflict or closed. A closed proposal whose stale hunks are decided later
// moves to another closed phase. The table lists the moves. All other moves are refused.
//
//	open, contested              to each other and to every closed phase
//	applied, partial, rejected,
//	failed                       to each other
//	withdrawn, superseded        to none

// proposalPhase is the state of a proposal.
type proposalPhase uint8

const (
	proposalOpen       proposalPhase = iota // a hunk waits for a decision
	proposalContested                       // like open, and a file has different text
	proposalApplied                         // closed: all hunks were accepted
	proposalPartial                         // closed: some hunks were accepted
	proposalRejected                        // closed: no hunk was accepted
	proposalFailed                          // closed: a file has different text
	proposalWithdrawn                       // closed by the end of its call
	proposalSuperseded                      // closed: a later edit of the session undid it
	proposalPhases     = iota
)

// openMoves are the moves of a proposal that waits for a decision.
var openMoves = append([]proposalPhase{proposalWithdrawn, proposalSuperseded}, revisable...)

// revisable are the closed phases that a later decision can change.
var revisable = []proposalPhase{proposalApplied, proposalPartial, proposalRejected, proposalFailed}

// proposalMoves is the transition table of proposals: the phases that may follow each phase.
var proposalMoves = [proposalPhases][]proposalPhase{
	proposalOpen:      append([]proposalPhase{proposalContested}, openMoves...),
	proposalContested: append([]proposalPhase{proposalOpen}, openMoves...),
	proposalApplied:   revisable,
	proposalPartial:   revisable,
	proposalRejected:  revisable,
	proposalFailed:    revisable,
}

// proposalShown maps each phase to the state that clients see.
var proposalShown = [proposalPhases]State{
	proposalOpen: StateProposed, proposalContested: StateConflict, proposalApplied: StateApplied,
	proposalPartial: StatePartial, proposalRejected: StateRejected, proposalFailed: StateConflict,
	proposalWithdrawn: StateWithdrawn, proposalSuperseded: StateSuperseded,
}

// become moves a proposal to a phase and reports whether the table contains that move. The caller
// holds mu.
func (p *proposal) become(next proposalPhase) bool {
	ok := next != p.phase && slices.Contains(proposalMoves[p.phase], next)
	if ok {
		p.phase = next
	}
	return ok
}

// state returns the state of the proposal that clients see. The caller holds mu.
func (p *proposal) state() State { return proposalShown[p.phase] }

// closed reports whether the proposal no longer waits for a decision. The caller holds mu.
func (p *proposal) closed() bool { return p.phase.closed() }

func (ph proposalPhase) closed() bool { return ph != proposalOpen && ph != proposalContested }

// storedProposalPhase returns the phase of a proposal that was stored.
func storedProposalPhase(s State, closed bool) proposalPhase {
	for ph := range proposalPhase(proposalPhases) {
		if proposalShown[ph] == s && ph.closed() == closed {
			return ph
		}
	}
	return proposalOpen
}

// openPhase returns the phase of a proposal while a hunk is undecided. The caller holds mu.
func (p *proposal) openPhase() proposalPhase {
	if slices.ContainsFunc(p.changes, (*change).inConflict) {
		return proposalContested
	}
	return proposalOpen
}

// closedPhase returns the phase that follows from the hunks' decisions. The caller holds mu.
func (p *proposal) closedPhase() proposalPhase {
	count := map[HunkState]int{}
	total, broken := 0, false
	for _, c := range p.changes {
		broken = broken || c.inConflict()
		for _, h := range c.hunks {
			count[h.state()]++
			total++
		}
	}
	switch {
	case count[HunkAccepted] == total:
		return proposalApplied
	case broken && count[HunkAccepted] == 0:
		return proposalFailed
	case count[HunkAccepted] > 0:
		return proposalPartial
	case count[HunkRejected] == 0 && count[HunkStale] > 0:
		return proposalFailed
	}
	return proposalRejected
}

// proposalKind describes the purpose of a proposal. It never changes.
type proposalKind uint8

const (
	editProposal proposalKind = iota // created by an edit of the agent
	// A restore created the proposal. It has its own checkpoint, causes no events and is not
	// listed.
	restoreProposal
	partProposal // the text of a file that a proposal renames
)

// final reports whether the texts of the proposal are used without being formatted.
func (k proposalKind) final() bool { return k != editProposal }

// teller describes how the model is informed about a proposal's outcome.
type teller uint8

const (
	tellByOutcomes teller = iota // Outcomes reports the changes since the last report
	tellByCall                   // the call that waits in Await reports it
	tellByResult                 // the result of the call has reported it
)

func firstTeller(policy Policy) teller {
	switch policy {
	case Ask, Confirm:
		return tellByCall
	case Auto:
		return tellByResult
	}
	return tellByOutcomes
}
