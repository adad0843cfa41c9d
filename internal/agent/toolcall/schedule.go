package toolcall

import (
	"context"
	"sync"
	"sync/atomic"
)

// Class determines when a Schedule may run a call.
type Class uint8

const (
	// Alone is the class of a call that runs when all earlier calls have ended. Later calls wait
	// for it.
	Alone Class = iota
	// Reads is the class of a call that changes nothing. It runs together with neighboring calls of
	// this class.
	Reads
	// ReadsFiles is the class of a call that changes nothing and reads only the files that it
	// names.
	ReadsFiles
	// Edits is the class of a call that changes only the files that it names.
	Edits
	// Known is the class of a call that has its result without running. It does not divide a group.
	Known
)

// Scheduled is one call of a reply.
type Scheduled interface {
	// Class is called before the call starts. Its result must not change during a Run of the
	// schedule.
	Class() Class
	// Files returns the names of the files of an edit, or of the files and folders of a ReadsFiles
	// call.
	Files() []string
	// Run runs the call and returns when the call has its result. It is called once, in a goroutine
	// of the schedule. It calls the methods of its Slot as their comments require.
	Run()
}

// Schedule decides when the calls of one reply run (protocol 6.2, in
// docs/reference/protocol/proposals.md). Consecutive calls that only read run together. Edits of
// different files wait for the user together. Edits of the same file run one after the other. A
// read between edits waits for earlier edits of its files, and later edits of these files wait for
// the read. Every other call runs alone. Calls start in their order.
type Schedule struct {
	calls    []Scheduled
	slots    []*Slot
	parallel int
}

// Slot is the position of a call in its schedule. The call uses it to report its progress. Its
// methods are safe for concurrent use. They allow a nil Slot, which belongs to no schedule.
type Slot struct {
	edit   *edit   // nil if the call is not in a group of edits
	moment *moment // nil if the call started alone
}

// NewSchedule returns the schedule of a reply's calls. parallel is the maximum number of calls that
// read concurrently.
func NewSchedule(calls []Scheduled, parallel int) *Schedule {
	s := &Schedule{calls: calls, parallel: parallel}
	for range calls {
		s.slots = append(s.slots, &Slot{})
	}
	return s
}

// Slot returns the position of call i.
func (s *Schedule) Slot(i int) *Slot { return s.slots[i] }

// Gather assigns one moment to the calls that start at the same time. It is called before Run.
// isAsked is called for each call that does not start with the first ones. It reports whether the
// user is asked about that call in advance, together with the first ones. If a group has more calls
// than may run concurrently, each of the remaining calls starts when another call ends.
func (s *Schedule) Gather(isAsked func(i int) bool) {
	for from := 0; from < len(s.calls); {
		to, edits := s.group(from)
		first := min(to, from+s.parallel)
		if edits {
			first = from + 1 // the remaining edits start one at a time
		}
		together := s.slots[from:first:first]
		for i := first; from == 0 && i < len(s.slots); i++ {
			if isAsked(i) {
				together = append(together, s.slots[i])
			}
		}
		begin(together)
		from = to
	}
}

// Run runs the calls and returns when each call has its result.
func (s *Schedule) Run() {
	for from := 0; from < len(s.calls); {
		to, edits := s.group(from)
		if edits {
			s.runEdits(from, to)
		} else {
			s.runReads(from, to)
		}
		from = to
	}
}

// group returns the end of the group of calls that begins with the call at the given index, and
// whether it is a group of edits.
func (s *Schedule) group(from int) (to int, edits bool) {
	if s.calls[from].Class() == Edits {
		return s.editsEnd(from), true
	}
	return s.readsEnd(from), false
}

// readsEnd returns the end of the calls that run together with the call at the given index.
func (s *Schedule) readsEnd(from int) int {
	to := from + 1
	for s.joins(from) && to < len(s.calls) && s.joins(to) {
		to++
	}
	return to
}

func (s *Schedule) joins(i int) bool {
	switch s.calls[i].Class() {
	case Reads, ReadsFiles, Known:
		return true
	}
	return false
}

// editsEnd returns the end of the group of edits that begins with the call at the given index. A
// call that reads files belongs to the group if an edit follows.
func (s *Schedule) editsEnd(from int) int {
	end := from
	for i, c := range s.calls[from:] {
		switch c.Class() {
		case Edits:
			end = from + i + 1
		case Known:
			if end == from+i {
				end++
			}
		case ReadsFiles:
		default:
			return end
		}
	}
	return end
}

// runReads starts the calls in [from, to) in order. It limits the number of calls that run
// concurrently.
func (s *Schedule) runReads(from, to int) {
	if to-from == 1 {
		s.calls[from].Run()
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(from))
	for range min(s.parallel, to-from) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(to); i = next.Add(1) - 1 {
				s.calls[i].Run()
			}
		})
	}
	wg.Wait()
}

// runEdits starts the calls in [from, to) in order. Each call starts when the previous one is
// waiting or has ended. Proposals are therefore in call order, and an edit that does not wait ends
// before the next one begins.
func (s *Schedule) runEdits(from, to int) {
	var group []*edit
	for i := from; i < to; i++ {
		c := s.calls[i]
		e := newEdit(group, c.Class())
		if e.class != Known {
			e.files = c.Files()
		}
		group = append(group[:len(group):len(group)], e)
		s.slots[i].edit = e
	}
	var running sync.WaitGroup
	for i, e := range group {
		running.Go(func() {
			defer close(e.ended)
			s.calls[from+i].Run()
		})
		select {
		case <-e.blocked:
		case <-e.ended:
		}
	}
	running.Wait()
}

// AwaitEarlier returns when ctx ends, or when all earlier calls that this call must not overtake
// have ended. These are edits of the same files and, if this call is itself an edit, calls that
// read these files. A call in a group of edits calls AwaitEarlier before it begins, and again if it
// then knows its files more precisely.
func (s *Slot) AwaitEarlier(ctx context.Context) {
	if s != nil && s.edit != nil {
		s.edit.awaitEarlier(ctx)
	}
}

// Waits lets the next edit start, because this one is waiting for the user.
func (s *Slot) Waits() {
	if s != nil && s.edit != nil {
		s.edit.block()
	}
}

// Relock replaces the files of a call after the call's arguments were replaced.
func (s *Slot) Relock(names []string) {
	if s != nil && s.edit != nil {
		s.edit.lock(names)
	}
}

// Arrive reports that the call is asking the user now, or will not ask. Further calls have no
// effect.
func (s *Slot) Arrive() {
	if s != nil && s.moment != nil {
		s.moment.arrive(s)
	}
}

// Gathered returns a channel that is closed when every call of the same moment has arrived. It
// returns nil for a call that started alone.
func (s *Slot) Gathered() <-chan struct{} {
	if s == nil || s.moment == nil {
		return nil
	}
	return s.moment.all
}
