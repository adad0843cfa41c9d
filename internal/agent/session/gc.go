package session

import (
	"errors"
	"os"
	"slices"
	"time"
)

// Retention determines which sessions are deleted. Zero means no limit.
type Retention struct {
	MaxAge   time.Duration // maximum age since the last change
	MaxBytes int64         // maximum size of all sessions in the library
	Keep     []string      // IDs of sessions to keep, even if they are closed in the meantime
}

// EmptyAge is the time for which an empty session is kept (see Entry.Empty).
const EmptyAge = 24 * time.Hour

// makingTime is the time for which a log without a header is treated as a session that is being
// created.
const makingTime = time.Minute

// beingMade reports whether this or another process is about to write the log's first line.
func (l *Library) beingMade(e Entry) bool {
	if !e.CreatedAt.IsZero() {
		return false
	}
	info, err := os.Stat(l.logPath(e.ID))
	return err != nil || time.Since(info.ModTime()) < makingTime
}

// GC deletes sessions that are older than MaxAge, and empty sessions that are older than EmptyAge.
// It also deletes sessions that exceed MaxBytes together with the newer ones that it keeps. It
// keeps sessions that are listed in Keep, open in this process, or being written by another
// process. It returns the IDs of the deleted sessions. An error in one session does not stop GC.
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
