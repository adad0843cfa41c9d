// Package keylock provides named locks, for resources whose names are known only at run time.
package keylock

import (
	"context"
	"slices"
	"sync"
)

// Locks is a set of named locks. Callers that use the same resources share one Locks. Locks drops a
// name when no caller has locked the name or waits for it. The zero value is ready to use. Locks is
// safe for concurrent use.
type Locks struct {
	mu sync.Mutex
	by map[string]*namedLock
}

type namedLock struct {
	users int
	token chan struct{} // contains one token while the lock is free
}

// Acquire acquires all the named locks, or fails with ctx's cause. It acquires them in a fixed
// order, so that no two callers deadlock. The caller must call release exactly once.
func (l *Locks) Acquire(ctx context.Context, names []string) (release func(), err error) {
	if len(names) == 0 {
		return func() {}, nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	taken := make([]string, 0, len(names))
	release = func() {
		for _, n := range taken {
			l.unlock(n)
		}
	}
	for _, n := range names {
		if err := l.lock(ctx, n); err != nil {
			release()
			return nil, err
		}
		taken = append(taken, n)
	}
	return release, nil
}

func (l *Locks) lock(ctx context.Context, name string) error {
	l.mu.Lock()
	if l.by == nil {
		l.by = map[string]*namedLock{}
	}
	n := l.by[name]
	if n == nil {
		n = &namedLock{token: make(chan struct{}, 1)}
		n.token <- struct{}{}
		l.by[name] = n
	}
	n.users++
	l.mu.Unlock()
	select {
	case <-n.token:
		return nil
	case <-ctx.Done():
		l.leave(name, n)
		return context.Cause(ctx)
	}
}

func (l *Locks) unlock(name string) {
	l.mu.Lock()
	n := l.by[name]
	l.mu.Unlock()
	n.token <- struct{}{}
	l.leave(name, n)
}

func (l *Locks) leave(name string, n *namedLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.users--; n.users == 0 {
		delete(l.by, name)
	}
}
