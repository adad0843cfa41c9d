package session

import (
	"bytes"
	"fmt"
	"os"
	"sync"
)

// Sync returns when the records that Append received with Sync set are on disk. If they cannot be
// synced, it returns the reason. Each call tries again.
func (s *Session) Sync() error {
	if err := s.durable.wait(); err != nil {
		return fmt.Errorf("saving session %s: %w", s.id, err)
	}
	return nil
}

// durable syncs written data to disk in the background, without delaying writes. The zero value is
// ready to use. It is safe for concurrent use.
type durable struct {
	// sync is nil to use the file's own function. Tests set it to simulate a failing disk.
	sync func(*os.File) error

	mu     sync.Mutex
	change *sync.Cond // created with the first request; signals changes of busy and done
	file   *os.File
	spans  []span // data that may not be on disk, oldest first
	wanted uint64 // number of spans requested
	done   uint64 // number of spans on disk
	busy   bool   // whether a goroutine is syncing
	failed bool   // whether the last sync failed
}

// span is a range of the file. After a failed sync, it is unknown which data is on disk, and the
// operating system may treat the data as already written. The span is therefore kept so that it can
// be written again.
type span struct {
	at   int64
	data []byte
}

// request requests a sync of data that was written to file at an offset. It does not wait.
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

// work syncs until all data is on disk or a sync fails. After a failure, wait tries to sync the
// remaining data.
func (d *durable) work() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.done < d.wanted && d.tryLocked() == nil {
	}
	d.busy = false
	d.change.Broadcast()
}

// wait returns when all data whose sync was requested earlier is on disk. If it cannot be synced,
// it returns the reason.
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
			return fmt.Errorf("flushing it to disk: %w", err)
		}
	}
	return nil
}

// tryLocked syncs once and releases the lock during the sync. If the previous sync failed, it first
// writes the data again.
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

// idle waits until no goroutine uses the file. It does not sync the remaining data.
func (d *durable) idle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.busy {
		d.change.Wait()
	}
}
