package agent

import (
	"fmt"
	"sync"
	"time"
)

// journal writes a session's records to its store in the order in which they were added. Adding
// never blocks. Flushing may block, but it holds no lock that a control method needs.
type journal struct {
	store Store

	mu      sync.Mutex // guards pending
	pending []Record

	writing sync.Mutex // held while the store writes; acquired before mu
}

func (j *journal) add(recs ...Record) {
	if j.store == nil {
		return
	}
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range recs {
		if r.Time.IsZero() {
			r.Time = now
		}
		j.pending = append(j.pending, r)
	}
}

// flush returns when every record that was added before the call is stored. Records that the store
// refused stay in the queue, ahead of later ones.
func (j *journal) flush() error {
	if j.store == nil {
		return nil
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	batch := j.pending
	j.pending = nil
	j.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	if err := j.store.Append(batch...); err != nil {
		j.mu.Lock()
		j.pending = append(batch, j.pending...)
		j.mu.Unlock()
		return fmt.Errorf("storing the session: %w", err)
	}
	return nil
}

// sync is like flush, but also waits until the records that must be on disk are synced.
func (j *journal) sync() error {
	if err := j.flush(); err != nil {
		return err
	}
	store, ok := j.store.(SyncStore)
	if !ok {
		return nil
	}
	if err := store.Sync(); err != nil {
		return fmt.Errorf("storing the session: %w", err)
	}
	return nil
}
