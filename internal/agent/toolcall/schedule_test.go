package toolcall

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeCall is a call that takes a second. If the call waits for the user, it first reports that it
// waits, and then takes ten seconds.
type fakeCall struct {
	name  string
	class Class
	files []string
	waits bool
	slot  *Slot
	log   *callLog
}

type callLog struct {
	mu    sync.Mutex
	begun time.Time
	lines []string
}

func (l *callLog) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := time.Since(l.begun).Round(time.Second)
	l.lines = append(l.lines, fmt.Sprintf("%s: ", at)+fmt.Sprintf(format, args...))
}

func (c *fakeCall) Class() Class    { return c.class }
func (c *fakeCall) Files() []string { return c.files }

func (c *fakeCall) Run() {
	c.slot.AwaitEarlier(context.Background())
	c.log.add("%s begins", c.name)
	if c.waits {
		c.slot.Waits()
		time.Sleep(10 * time.Second)
	} else {
		time.Sleep(time.Second)
	}
	c.slot.Arrive()
	c.log.add("%s ends", c.name)
}

// play runs calls and returns a log of the times at which each of them began and ended.
func play(t *testing.T, parallel int, calls ...*fakeCall) (lines string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		log := &callLog{begun: time.Now()}
		list := make([]Scheduled, len(calls))
		for i, c := range calls {
			c.log, list[i] = log, c
		}
		s := NewSchedule(list, parallel)
		for i, c := range calls {
			c.slot = s.Slot(i)
		}
		s.Run()
		lines = strings.Join(log.lines, "\n")
	})
	return lines
}

func TestReadsRunTogetherAndOthersAlone(t *testing.T) {
	got := play(t, 2,
		&fakeCall{name: "a", class: Alone}, &fakeCall{name: "r1", class: Reads},
		&fakeCall{name: "k", class: Known}, &fakeCall{name: "b", class: Alone})
	for _, want := range []string{"1s: a ends", "2s: r1 ends", "2s: k ends", "2s: b begins"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
}

func TestAtMostSoManyReadsAtATime(t *testing.T) {
	calls := make([]*fakeCall, 5)
	for i := range calls {
		calls[i] = &fakeCall{name: fmt.Sprint("r", i), class: Reads}
	}
	got := play(t, 2, calls...)
	if !strings.Contains(got, "2s: r4 begins") || strings.Contains(got, "0s: r2 begins") {
		t.Errorf("two at a time:\n%s", got)
	}
}

func TestEditsOfDifferentFilesWaitTogether(t *testing.T) {
	got := play(t, 8,
		&fakeCall{name: "e1", class: Edits, files: []string{"x"}, waits: true},
		&fakeCall{name: "e2", class: Edits, files: []string{"y"}, waits: true},
		&fakeCall{name: "e3", class: Edits, files: []string{"x", "z"}},
		&fakeCall{name: "e4", class: Edits, files: []string{"w"}},
		&fakeCall{name: "r", class: Reads})
	want := []string{
		"0s: e1 begins", "0s: e2 begins", // both wait for the user
		"0s: e4 begins", // changes another file, while e3 waits for e1
		"1s: e4 ends",
		"10s: e3 begins", "11s: e3 ends", "11s: r begins",
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s is missing in\n%s", w, got)
		}
	}
}

// TestReadsOfFilesBetweenEdits checks that a read of a file, or of a folder that contains it, waits
// for an earlier edit of the file, and that a later edit of the file waits for the read. A read of
// other files does not affect the order of the edits. A read of unknown files, or one that no edit
// follows, waits for all earlier edits.
func TestReadsOfFilesBetweenEdits(t *testing.T) {
	edit := func(name string, waits bool, files ...string) *fakeCall {
		return &fakeCall{name: name, class: Edits, files: files, waits: waits}
	}
	read := func(name string, files ...string) *fakeCall {
		return &fakeCall{name: name, class: ReadsFiles, files: files}
	}
	for name, c := range map[string]struct {
		calls []*fakeCall
		want  []string
	}{
		"another file": {
			[]*fakeCall{edit("e1", true, "/x"), read("r", "/y"), edit("e2", true, "/y")},
			[]string{"0s: r begins", "1s: r ends", "1s: e2 begins"},
		},
		"the same file": {
			[]*fakeCall{edit("e1", true, "/x"), read("r", "/x"), edit("e2", true, "/y")},
			[]string{"0s: e2 begins", "10s: r begins"},
		},
		"its folder": {
			[]*fakeCall{edit("e1", true, "/d/x"), read("r", "/d"), edit("e2", true, "/d/y")},
			[]string{"10s: r begins", "11s: r ends", "11s: e2 begins"},
		},
		"a folder beside it": {
			[]*fakeCall{edit("e1", true, "/dir/x"), read("r", "/d"), edit("e2", true, "/e")},
			[]string{"0s: r begins", "1s: e2 begins"},
		},
		"no file": {
			[]*fakeCall{edit("e1", true, "/x"), read("r"), edit("e2", true, "/y")},
			[]string{"0s: r begins", "1s: e2 begins"},
		},
		"two reads of a file": {
			[]*fakeCall{
				edit("e1", true, "/x"), read("r1", "/x"), read("r2", "/x"), edit("e2", true, "/x"),
			},
			[]string{"10s: r1 begins", "10s: r2 begins", "11s: e2 begins"},
		},
		"no edit follows": {
			[]*fakeCall{edit("e1", true, "/x"), read("r1", "/y"), read("r2", "/z")},
			[]string{"10s: r1 begins", "10s: r2 begins"},
		},
		"a read of unknown files": {
			[]*fakeCall{edit("e1", true, "/x"), {name: "r", class: Reads}, edit("e2", true, "/y")},
			[]string{"10s: r begins", "11s: e2 begins"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, 8, c.calls...)
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%s is missing in\n%s", w, got)
				}
			}
		})
	}
}

// Calls in a group with edits start one after another. Gathered therefore returns nil for each of
// them, and no question waits for the questions of the other calls.
func TestCallsOfAGroupOfEditsHaveNoMoment(t *testing.T) {
	s := NewSchedule([]Scheduled{
		&fakeCall{class: Edits}, &fakeCall{class: ReadsFiles}, &fakeCall{class: ReadsFiles},
		&fakeCall{class: Edits},
	}, 8)
	s.Gather(func(i int) bool { return false })
	for i := range 4 {
		if s.Slot(i).Gathered() != nil {
			t.Errorf("call %d has a moment", i)
		}
	}
}

func TestCallsOfAMomentArriveTogether(t *testing.T) {
	calls := []Scheduled{
		&fakeCall{class: Reads}, &fakeCall{class: Reads}, &fakeCall{class: Alone},
		&fakeCall{class: Alone},
	}
	s := NewSchedule(calls, 8)
	s.Gather(func(i int) bool { return i == 3 })
	if s.Slot(2).Gathered() != nil {
		t.Error("a call that starts alone has a moment")
	}
	for _, i := range []int{0, 3, 0} {
		s.Slot(i).Arrive()
		select {
		case <-s.Slot(1).Gathered():
			t.Fatal("the moment is over before its last call has arrived")
		default:
		}
	}
	s.Slot(1).Arrive()
	<-s.Slot(0).Gathered()
}
