package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/filelock"
)

const (
	// MaxBytes bounds one session's log. When the limit is reached, nothing more is stored and
	// writes return ErrFull.
	MaxBytes = 512 << 20
	// seqBlock is the size of the blocks in which notification numbers are reserved. After a crash
	// the numbers continue above the reserved ones, so that none is used twice.
	seqBlock = 4096
	// indexEvery is the number of bytes that may be added to the log before the index is written
	// again.
	indexEvery = 64 << 10
	// maxHeld is the maximum number of items that wait for their messages.
	maxHeld = 512
)

var (
	// ErrLocked reports that another process is writing the session (wire code 1009).
	ErrLocked = errors.New(
		"another agent-lsp is writing this session; close it there, fork it or start a new one",
	)
	// ErrChanged reports that another process has written the session since it was loaded. The
	// caller must load it again.
	ErrChanged = errors.New("another agent-lsp has changed the session since it was loaded")
	// ErrFull reports that the log has reached MaxBytes.
	ErrFull = errors.New("the session has reached its maximum size; start a new one or fork it")
	// ErrUnknown reports that no session with that ID is stored (wire code 1002).
	ErrUnknown = errors.New("no such session is stored")
	// ErrClosed reports that the session was closed or deleted.
	ErrClosed = errors.New("the session is closed")
)

var _ agent.SyncStore = (*Session)(nil)

// Session is an open stored session. It implements agent.SyncStore and is safe for concurrent use.
// The first write acquires the writer's lock, and Close releases it.
type Session struct {
	lib *Library
	id  string

	seq      atomic.Uint64 // the last used number
	reserved atomic.Uint64
	entry    atomic.Pointer[Entry]
	// writer reports whether the session holds the writer's lock, for readers that must not wait
	// for the disk.
	writer atomic.Bool

	mu      sync.Mutex
	file    *os.File
	log     logState
	size    int64 // bytes of complete lines
	seen    int64 // size of the file when it was read
	index   indexState
	newline bool // whether the last line lacks a newline
	locked  bool
	closed  bool
	repairs []agent.Record // records that Load added; the next write stores them
	recent  recent
	buf     bytes.Buffer
	durable durable

	held heldItems
}

// indexState tracks the index next to the log. The session's lock guards it.
type indexState struct {
	size    int64 // number of bytes of the log that the index covers
	writing bool  // whether indexLater is pending
}

// heldItems are completed items that are stored later, together with the messages that they show.
type heldItems struct {
	mu    sync.Mutex
	items []Item
}

// ID returns the session's ID.
func (s *Session) ID() string { return s.id }

// Entry returns the current list entry of the session. It never waits for the disk.
func (s *Session) Entry() Entry {
	e := *s.entry.Load()
	e.LastSeq = s.seq.Load()
	return e
}

// Append stores records in order with one write. If it fails, none of them is stored. When it
// returns, the sync of records with Sync set has begun.
func (s *Session) Append(records ...agent.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(records)
}

// Flush stores the items from AddItem that no Append has stored yet.
func (s *Session) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting()) == 0 {
		return nil
	}
	return s.flushItems()
}

func (s *Session) append(records []agent.Record) error {
	if err := s.lock(); err != nil {
		return err
	}
	if len(s.repairs) > 0 {
		records = append(s.repairs[:len(s.repairs):len(s.repairs)], records...)
	}
	held := s.waiting()
	records, wait := s.withItems(records, held)
	records = s.withSeq(records)
	ends, wantSync, err := s.encode(records)
	if err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	if wantSync {
		s.durable.request(s.file, s.size, s.buf.Bytes())
	}
	s.repairs = nil
	s.release(len(held), wait)
	s.take(records, ends)
	s.indexIfDue(records)
	return nil
}

// withSeq reserves numbers in the same write as other records, so that using a number rarely
// requires a separate write.
func (s *Session) withSeq(records []agent.Record) []agent.Record {
	seq := s.seq.Load()
	if seq == 0 || seq+seqBlock/2 <= s.reserved.Load() {
		return records
	}
	r, err := newRecord(RecordSeq, s.lib.now(), seqData{Reserved: seq + seqBlock})
	if err != nil {
		return records
	}
	return append(records[:len(records):len(records)], r)
}

// encode writes the records to s.buf and returns the offset at which each record ends.
func (s *Session) encode(records []agent.Record) (ends []int, wantSync bool, err error) {
	s.buf.Reset()
	if s.newline {
		s.buf.WriteByte('\n')
	}
	ends = make([]int, len(records))
	for i := range records {
		start := s.buf.Len()
		if err := encode(&s.buf, &records[i]); err != nil {
			return nil, false, fmt.Errorf(
				"encoding a %s record of session %s: %w",
				records[i].Type,
				s.id,
				err,
			)
		}
		line := s.buf.Bytes()[start:]
		if out := redacted(line, s.lib.opts.Redact); !bytes.Equal(out, line) {
			out = bytes.Clone(out)
			s.buf.Truncate(start)
			s.buf.Write(out)
		}
		ends[i] = s.buf.Len()
		wantSync = wantSync || records[i].Sync
	}
	return ends, wantSync, nil
}

// write appends s.buf after the last complete line of the log. It overwrites the remains of a
// failed write.
func (s *Session) write() error {
	if s.size+int64(s.buf.Len()) > s.lib.maxBytes() {
		return fmt.Errorf("saving session %s: %w", s.id, ErrFull)
	}
	if _, err := s.file.WriteAt(s.buf.Bytes(), s.size); err != nil {
		_ = s.file.Truncate(s.size) // if this also fails, the next write overwrites the remains
		return fmt.Errorf("saving session %s: %w", s.id, err)
	}
	return nil
}

// take updates the log state with records that have just been written.
func (s *Session) take(records []agent.Record, ends []int) {
	start := 0
	if s.newline {
		start = 1
	}
	for i := range records {
		r := &records[i]
		s.log.apply(r, s.size+int64(start), ends[i]-start, s.lib.title)
		start = ends[i]
		if r.Message != nil && r.Type == agent.RecordMessage {
			s.recent.add(r.Message)
		}
		var d seqData
		if r.Type == RecordSeq && decode(r.Data, &d) == nil {
			s.reserved.Store(d.Reserved)
		}
	}
	s.newline = false
	s.size += int64(s.buf.Len())
	if s.buf.Cap() > 1<<20 {
		s.buf = bytes.Buffer{}
	}
	s.publish()
}

func (s *Session) publish() {
	e := s.log.entry
	e.Bytes = s.size
	s.entry.Store(&e)
}

// NextSeq returns the number of the next notification. The numbers are 1, 2, 3 … and continue over
// the session's whole lifetime. NextSeq is cheap. If Append is not called in between, it writes
// only about once in a few thousand calls.
func (s *Session) NextSeq() uint64 {
	n := s.seq.Add(1)
	if n > s.reserved.Load() {
		s.reserve(n)
	}
	return n
}

// reserve reserves another block of numbers. If writing fails (a full disk, another writer),
// numbers are still used, and a later call tries again.
func (s *Session) reserve(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= s.reserved.Load() {
		return
	}
	if err := s.append(nil); err != nil {
		s.reserved.Store(n + seqBlock)
	}
}

// AddItem adds a completed item. It never waits for the disk. Append stores the item together with
// or after the item's message or, if no such message is stored, at the end of the turn. Text that a
// message contains is not stored again. The item must not be changed afterwards.
func (s *Session) AddItem(it Item) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	s.held.items = append(s.held.items, it)
}

// withItems adds the waiting items that can now be stored, each after the message that it shows. It
// returns the items that must still wait.
func (s *Session) withItems(
	records []agent.Record,
	wait []Item,
) (with []agent.Record, left []Item) {
	if len(wait) == 0 {
		return records, nil
	}
	known := slices.Clone(s.recent)
	all := len(wait) > maxHeld
	for i := range records {
		r := &records[i]
		if r.Type == agent.RecordTurnEnd {
			with, wait = s.ripe(with, wait, known, true)
		}
		with = append(with, *r)
		if r.Type == agent.RecordMessage && r.Message != nil {
			known.add(r.Message)
			with, wait = s.ripe(with, wait, known, false)
		}
	}
	return s.ripe(with, wait, known, all)
}

// ripe adds the items whose messages are stored. If all is set, it adds all items.
func (s *Session) ripe(
	with []agent.Record,
	wait []Item,
	known recent,
	all bool,
) ([]agent.Record, []Item) {
	var left []Item
	for _, it := range wait {
		d, found := storeItem(it, known)
		if !found && !all {
			left = append(left, it)
			continue
		}
		if r, err := newRecord(RecordItem, it.Item.CreatedAt, d); err == nil {
			with = append(with, r)
		}
	}
	return with, left
}

func (s *Session) waiting() []Item {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	return slices.Clone(s.held.items)
}

// flushItems stores all waiting items with their texts.
func (s *Session) flushItems() error {
	with, _ := s.ripe(nil, s.waiting(), s.recent, true)
	n := len(with)
	s.held.mu.Lock()
	kept := s.held.items
	s.held.items = nil
	s.held.mu.Unlock()
	if err := s.append(with); err != nil {
		s.held.mu.Lock()
		s.held.items = append(kept, s.held.items...)
		s.held.mu.Unlock()
		return fmt.Errorf("storing %d items: %w", n, err)
	}
	return nil
}

// release removes the items that are now stored. wait contains the items that must still wait.
func (s *Session) release(before int, wait []Item) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	s.held.items = append(wait, s.held.items[before:]...)
}

// SetConfig stores the session's own complete configuration.
func (s *Session) SetConfig(config json.RawMessage) error {
	return s.Append(agent.Record{Type: RecordConfig, Data: config, Time: s.lib.now()})
}

// SetTitle renames the session.
func (s *Session) SetTitle(title string) error { return s.store(RecordTitle, titleData{title}) }

// SuggestTitle sets the title unless the user has set one. It reports whether it set the title.
func (s *Session) SuggestTitle(title string) (bool, error) {
	r, err := newRecord(RecordTitle, s.lib.now(), titleData{title})
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.log.entry.Titled {
		return false, nil
	}
	err = s.append([]agent.Record{r})
	return err == nil, err
}

// SetArchived hides the session from lists, or shows it again.
func (s *Session) SetArchived(archived bool) error {
	return s.store(RecordArchive, archiveData{archived})
}

// SetPaused stores whether the session is paused.
func (s *Session) SetPaused(paused bool) error { return s.store(RecordPaused, pausedData{paused}) }

// BranchTo makes the history continue after a message, or from the start if messageID is "". The
// caller must give the engine the shortened history by loading the session again.
func (s *Session) BranchTo(messageID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.log.find(messageID)
	if at < 0 && messageID != "" {
		return fmt.Errorf("branching session %s: message %s is not stored", s.id, messageID)
	}
	depth := 0
	for i := at; i >= 0; i = s.log.nodes[i].parent {
		depth++
	}
	r, err := newRecord(RecordBranch, s.lib.now(), Branch{Through: messageID, Messages: depth})
	if err != nil {
		return err
	}
	r.Sync = true
	if err := s.append([]agent.Record{r}); err != nil {
		return err
	}
	return s.Sync()
}

func (s *Session) store(typ agent.RecordType, data any) error {
	r, err := newRecord(typ, s.lib.now(), data)
	if err != nil {
		return err
	}
	return s.Append(r)
}

// Close writes the exact last number and the index, releases the lock and closes the file. Later
// calls of Append return an error.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	var err error
	if s.locked || len(s.waiting()) > 0 {
		err = s.settle()
	}
	s.closed = true
	s.writer.Store(false)
	s.lib.forget(s)
	s.durable.idle()
	if s.file != nil {
		// Release the lock explicitly. A child process that is just being started also has the file
		// open for a moment, and would keep the lock.
		if s.locked {
			err = errors.Join(err, filelock.Unlock(s.file))
		}
		err = errors.Join(err, s.file.Close())
	}
	return err
}

// settle writes everything that is only in memory.
func (s *Session) settle() error {
	var err error
	if len(s.waiting()) > 0 {
		err = s.flushItems()
	}
	if seq := s.seq.Load(); seq > 0 && s.reserved.Load() != seq {
		s.reserved.Store(seq + seqBlock) // do not reserve another block
		var r agent.Record
		if r, err = newRecord(RecordSeq, s.lib.now(), seqData{Reserved: seq}); err == nil {
			err = s.append([]agent.Record{r})
		}
	}
	s.writeIndex()
	return err
}
