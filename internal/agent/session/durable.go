package session

import (
	"bytes"
	"fmt"
	"os"
	"sync"
)

// Sync returns when what Append took with Sync set is on the disk, or why that cannot be: it is
// tried again by each call.
func (s *Session) Sync() error {
	if err := s.durable.wait(); err != nil {
		return fmt.Errorf("saving session %s: %w", s.id, err)
	}
	return nil
}

// durable brings to the disk what was written, beside the writing and beside whoever waits for
// neither. The zero value has nothing to do. Safe for concurrent use.
type durable struct {
	sync func(*os.File) error // nil: the file's own; for tests of a disk that fails

	mu     sync.Mutex
	change *sync.Cond // made with the first request; tells of running and done
	file   *os.File
	spans  []span // what is not known to be on the disk, oldest first
	wanted uint64 // how many spans there were
	done   uint64 // how many of them are on the disk
	busy   bool   // somebody is at it
	failed bool   // the last time
}

// span is a piece of the file. What a failed sync leaves of it nobody knows (the system may take it
// for clean), so it is kept to be written again.
type span struct {
	at   int64
	data []byte
}

// request asks for data, written to file at an offset. It does not wait.
func (d *durable) request(file *os.File, at int64, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.change == nil {
		d.change = sync.NewCond(&d.mu)
	}
	d.file = file
	d.spans = append(d.spans, span{at, bytes.Clone(data)})
	d.wanted++
	if !d.busy {
		d.busy = true
		go d.work()
	}
}

// work syncs until everything is on the disk or the disk fails; what is left then is tried again by
// wait.
func (d *durable) work() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.done < d.wanted && d.tryLocked() == nil {
	}
	d.busy = false
	d.change.Broadcast()
}

// wait returns when all that was asked for before is on the disk, or why it cannot be brought
// there.
func (d *durable) wait() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for target := d.wanted; d.done < target; {
		if d.busy {
			d.change.Wait()
			continue
		}
		d.busy = true
		err := d.tryLocked()
		d.busy = false
		d.change.Broadcast()
		if err != nil {
			return fmt.Errorf("bringing it to the disk: %w", err)
		}
	}
	return nil
}

// tryLocked syncs once, without the lock while it does, and where that failed before writes anew
// first.
func (d *durable) tryLocked() error {
	file, spans, again := d.file, d.spans, d.failed
	d.mu.Unlock()
	err := d.bring(file, spans, again)
	d.mu.Lock()
	if d.failed = err != nil; err == nil {
		d.done += uint64(len(spans))
		d.spans = d.spans[len(spans):]
	}
	return err
}

func (d *durable) bring(file *os.File, spans []span, again bool) error {
	if again {
		for _, s := range spans {
			if _, err := file.WriteAt(s.data, s.at); err != nil {
				return err
			}
		}
	}
	if d.sync != nil {
		return d.sync(file)
	}
	return file.Sync()
}

// idle waits until nobody is at the file; what is not on the disk then is left to the system.
func (d *durable) idle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.busy {
		d.change.Wait()
	}
}
