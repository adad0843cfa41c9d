package session

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

func lasting(id string) agent.Record {
	return agent.Record{Type: agent.RecordMessage,
		Message: msg(id, message.RoleUser, "text of "+id), Sync: true}
}

// A write does not wait for the disk, but Sync does. A single sync of the file covers all writes
// that precede it.
func TestSyncIsBesideTheWriting(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	began, pass := make(chan struct{}, 9), make(chan struct{})
	s.durable.sync = func(f *os.File) error { began <- struct{}{}; <-pass; return f.Sync() }
	must(t, s.Append(lasting("u1")))
	<-began
	for _, id := range []string{"u2", "u3", "u4"} {
		must(t, s.Append(lasting(id)))
	}
	done := make(chan error)
	go func() { done <- s.Sync() }()
	pass <- struct{}{}
	<-began
	select {
	case <-done:
		t.Fatal("Sync returned before all data was on disk")
	default:
	}
	close(pass)
	must(t, <-done)
	if len(began) != 0 {
		t.Errorf("%d syncs, want at most two", len(began))
	}
	must(t, s.Sync())
	must(t, s.Close())
}

// After a failed sync, the next call of Sync rewrites the data that may have been lost. A reader
// then finds complete data.
func TestSyncFailsAndIsTriedAgain(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	broken := errors.New("input/output error")
	var fail atomic.Bool
	fail.Store(true)
	s.durable.sync = func(f *os.File) error {
		if !fail.Load() {
			return f.Sync()
		}
		info, err := f.Stat()
		must(t, err)
		_, err = f.WriteAt(make([]byte, 20), info.Size()-20) // simulates lost pages
		must(t, err)
		return broken
	}
	must(t, s.Append(lasting("u1")))
	for range 3 {
		if err := s.Sync(); !errors.Is(err, broken) {
			t.Fatalf("Sync: %v", err)
		}
	}
	fail.Store(false)
	must(t, s.Append(lasting("u2")))
	must(t, s.Sync())
	must(t, s.Close())
	in := load(t, l, s.ID())
	if len(in.Messages) != 2 || len(in.Problems) != 0 {
		t.Errorf("%d messages, problems %v", len(in.Messages), in.Problems)
	}
}

// Many goroutines write and sync concurrently. No record is lost.
func TestSyncByMany(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				if err := s.Append(lasting(string(rune('a'+i)) + string(rune('a'+j)))); err != nil {
					t.Error(err)
				}
				if err := s.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	must(t, s.Append(lasting("last")))
	must(t, s.Close())
	if got := len(load(t, l, s.ID()).Messages); got != 161 {
		t.Errorf("%d messages", got)
	}
}
