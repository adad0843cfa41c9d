package session

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultLimit is the maximum length of a list if the query sets no limit.
const DefaultLimit = 50

// Query selects sessions. The zero value selects the newest ones that are not archived.
type Query struct {
	Text     string // text to find in titles and messages, ignoring case
	Archived bool   // list archived sessions instead of unarchived ones
	Cursor   string // cursor from an earlier page
	Limit    int    // 0 means DefaultLimit, negative means all
}

// List returns sessions, most recently updated first. If there are more sessions, it also returns a
// cursor. Empty sessions are omitted unless they are open in this process. List reads a log only if
// the log is newer than its index or if q.Text is set.
func (l *Library) List(q Query) ([]Entry, string, error) {
	all, err := l.entries()
	if err != nil {
		return nil, "", err
	}
	all = slices.DeleteFunc(all, func(e Entry) bool {
		return e.Archived != q.Archived ||
			e.Empty() && l.opened(e.ID) == nil
	})
	slices.SortFunc(all, newestFirst)
	if all, err = after(all, q.Cursor); err != nil {
		return nil, "", err
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	var page []Entry
	for _, e := range all {
		if limit > 0 && len(page) == limit {
			return page, cursorOf(page[limit-1]), nil
		}
		if q.Text == "" || l.matches(e, q.Text) {
			page = append(page, e)
		}
	}
	return page, "", nil
}

// Entry returns the list entry of one session.
func (l *Library) Entry(id string) (Entry, error) {
	if s := l.opened(id); s != nil {
		return s.Entry(), nil
	}
	if !validID(id) {
		return Entry{}, fmt.Errorf("session %q: %w", id, ErrUnknown)
	}
	info, err := os.Stat(l.logPath(id))
	if errors.Is(err, os.ErrNotExist) {
		return Entry{}, fmt.Errorf("session %s: %w", id, ErrUnknown)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("reading session %s: %w", id, err)
	}
	return l.entryOf(id, info)
}

// entries returns the list entries of all readable sessions, in no particular order.
func (l *Library) entries() ([]Entry, error) {
	files, err := os.ReadDir(l.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	var all []Entry
	for _, f := range append(files, l.spareFiles()...) {
		id, ok := strings.CutSuffix(f.Name(), logSuffix)
		if !ok || !validID(id) {
			continue
		}
		info, err := f.Info()
		if err != nil {
			continue // deleted in the meantime
		}
		e, err := l.entryOf(id, info)
		if err != nil {
			l.warn("listing session "+id, err)
			continue
		}
		all = append(all, e)
	}
	return all, nil
}

// entryOf returns the entry of a log, from memory if the log has not changed.
func (l *Library) entryOf(id string, info os.FileInfo) (Entry, error) {
	if s := l.opened(id); s != nil {
		if s.Locked() {
			return s.Entry(), nil
		}
	}
	l.mu.Lock()
	c, ok := l.cache[id]
	l.mu.Unlock()
	if ok && c.size == info.Size() && c.mtime.Equal(info.ModTime()) {
		return c.entry, nil
	}
	e, err := l.entryFromDisk(id, info.Size())
	if err != nil {
		return Entry{}, err
	}
	l.mu.Lock()
	l.cache[id] = cached{size: info.Size(), mtime: info.ModTime(), entry: e}
	l.mu.Unlock()
	return e, nil
}

func newestFirst(a, b Entry) int {
	if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
		return c
	}
	return cmp.Compare(b.ID, a.ID)
}

func cursorOf(e Entry) string {
	return strconv.FormatInt(e.UpdatedAt.UnixNano(), 36) + "." + e.ID
}

// after returns the entries that follow the entry to which the cursor refers.
func after(all []Entry, cursor string) ([]Entry, error) {
	if cursor == "" {
		return all, nil
	}
	at, id, ok := strings.Cut(cursor, ".")
	nanos, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("listing sessions: %q is not a cursor of this list", cursor)
	}
	last := Entry{Meta: Meta{ID: id}, UpdatedAt: time.Unix(0, nanos)}
	i, _ := slices.BinarySearchFunc(all, last, newestFirst)
	for i < len(all) && newestFirst(all[i], last) <= 0 {
		i++
	}
	return all[i:], nil
}
