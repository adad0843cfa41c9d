package keylock

import (
	"context"
	"errors"
	"testing"
)

// A name is kept in memory only while a caller holds its lock or waits for it.
func TestLocksForgetNames(t *testing.T) {
	var l Locks
	release, err := l.Acquire(t.Context(), []string{"/b", "/a", "/b"})
	if err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancelCause(t.Context())
	why := errors.New("aborted")
	cancel(why)
	if _, err := l.Acquire(stopped, []string{"/0", "/a"}); err != why {
		t.Errorf("a held lock and an ended context: %v, want the cause", err)
	}
	if len(l.by) != 2 {
		t.Errorf("%d names while two locks are held", len(l.by))
	}
	release()
	if len(l.by) != 0 {
		t.Errorf("names without a user: %v", l.by)
	}
}
