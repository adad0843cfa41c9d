package toolcall

import (
	"context"
	"sync"
	"sync/atomic"
)

// Class is the information about a call that a Schedule needs.
type Class uint8

const (
	// Alone is a call that runs when all earlier calls have ended. Later calls wait for it.
	Alone Class = iota
	// Reads is a call that changes nothing. It runs together with neighboring calls of this class.
	Reads
	// ReadsFiles is a call of class Reads that reads only the files that it names.
	ReadsFiles
	// Edits is a call that changes only the files that it names.
	Edits
	// Known is a call that has its result without running. It divides no group.
	Known
)

// Scheduled is one call of a reply.
type Scheduled interface {
	// Class is asked before the call's turn. It must not change during a Run of the schedule.
	Class() Class
	// Files are the names of the files of an edit, and of the files and folders of a call that
	// ReadsFiles.
	Files() []string
	// Run runs the call and returns when it has its result. It is called once, in a goroutine of
	// the schedule. It calls the methods of its Slot as they specify.
	Run()
}

// Schedule decides when the calls of one reply run: consecutive calls that only read run together;
// edits wait for the user together, those of one file after each other (protocol 6.2). A call that
// reads files between two edits divides them only if it and one of them concern the same file.
// Every other call runs alone. Calls start in their order.
type Schedule struct {
	calls    []Scheduled
	slots    []*Slot
	parallel int
}

// Slot is the position of a call in its schedule. The call reports by it where it has got to. Its
// methods are safe for concurrent use and allow a nil Slot, which is in no schedule.
type Slot struct {
	edit   *edit   // nil: not in a group of edits
	moment *moment // nil: started alone
}

// NewSchedule returns the schedule of a reply's calls, of which at most parallel read at a time.
func NewSchedule(calls []Scheduled, parallel int) *Schedule {
	s := &Schedule{calls: calls, parallel: parallel}
	for range calls {
		s.slots = append(s.slots, &Slot{})
	}
	return s
}

// Slot returns the position of call i.
func (s *Schedule) Slot(i int) *Slot { return s.slots[i] }

// Gather assigns one moment to the calls that start at the same time, before Run. isAsked is called
// for each call after the first ones. It reports whether the user is asked about the call in
// advance, together with the first ones. In a group larger than parallel, the last calls start
// individually when others end.
func (s *Schedule) Gather(isAsked func(i int) bool) {
	for from := 0; from < len(s.calls); {
		to, edits := s.group(from)
		first := min(to, from+s.parallel)
		if edits {
			first = from + 1 // the others start one after the other
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

// Run runs the calls and returns when each has its result.
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

// group returns the end of the group of calls that begins with call from, and whether it is one of
// edits.
func (s *Schedule) group(from int) (to int, edits bool) {
	if s.calls[from].Class() == Edits {
		return s.editsEnd(from), true
	}
	return s.readsEnd(from), false
}

// readsEnd returns the end of the calls that run together with call from.
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

// editsEnd returns the end of the group of edits that begins with call from. Calls that read files
// belong to it if an edit follows them.
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

// runReads runs the calls from up to to, at most so many at a time, started in order.
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

// runEdits starts the calls from up to to in order. Each starts when the previous one is waiting or
// has ended. The proposals of the edits are in call order, and an edit that does not wait ends
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

// AwaitEarlier returns when the earlier calls that the call must not overtake have ended, or when
// ctx has ended: edits of the same files and, if it is an edit itself, calls that read them. A call
// in a group of edits calls it before it begins, and again when it knows its files better.
func (s *Slot) AwaitEarlier(ctx context.Context) {
	if s != nil && s.edit != nil {
		s.edit.awaitEarlier(ctx)
	}
}

// Waits lets the next edit start, because this one waits for the user.
func (s *Slot) Waits() {
	if s != nil && s.edit != nil {
		s.edit.block()
	}
}

// Relock replaces the files of a call whose arguments were replaced.
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

// Gathered returns a channel that is closed when every call of the same moment has arrived; nil for
// a call that started alone.
func (s *Slot) Gathered() <-chan struct{} {
	if s == nil || s.moment == nil {
		return nil
	}
	return s.moment.all
}
