package session

import (
	"errors"
	"os"
	"slices"
	"time"
)

// Retention says which sessions go. Zero is no limit.
type Retention struct {
	MaxAge   time.Duration // since the last change
	MaxBytes int64         // of all sessions of the library
	Keep     []string      // ids that stay, also when they are closed before it is their turn
}

// EmptyAge is how long a session stays in which nothing was said.
const EmptyAge = 24 * time.Hour

// makingTime is how long a log may lack its header: whoever creates it has not come to write it
// yet.
const makingTime = time.Minute

// beingMade reports whether somebody, here or in another process, is about to write the log's first
// line.
func (l *Library) beingMade(e Entry) bool {
	if !e.CreatedAt.IsZero() {
		return false
	}
	info, err := os.Stat(l.logPath(e.ID))
	return err != nil || time.Since(info.ModTime()) < makingTime
}

// GC deletes sessions that are older than the retention allows, or empty and older than EmptyAge,
// then the oldest until the rest fits. Sessions that are to be kept, are open here or written by
// another process stay. It returns the ids of those deleted; errors of single sessions do not stop
// it.
func (l *Library) GC(r Retention) ([]string, error) {
	all, err := l.entries()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, newestFirst)
	var gone []string
	var errs []error
	var total int64
	for _, e := range all {
		age := l.now().Sub(e.UpdatedAt)
		old := r.MaxAge > 0 && age > r.MaxAge || e.Empty() && age > EmptyAge
		if !old && (r.MaxBytes <= 0 || total+e.Bytes <= r.MaxBytes) {
			total += e.Bytes
			continue
		}
		if slices.Contains(r.Keep, e.ID) || l.opened(e.ID) != nil || l.beingMade(e) {
			total += e.Bytes
			continue
		}
		switch err := l.Delete(e.ID); {
		case err == nil:
			gone = append(gone, e.ID)
		case !errors.Is(err, ErrLocked) && !errors.Is(err, ErrUnknown):
			errs = append(errs, err)
		}
	}
	return gone, errors.Join(errs...)
}
