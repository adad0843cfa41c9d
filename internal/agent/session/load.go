package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/clip"
)

// ErrNewer reports that a newer agent-lsp wrote the session.
var ErrNewer = errors.New("this session was written by a newer agent-lsp; update agent-lsp to open it")

// migrations[v] converts a line of format v to format v+1, including the header. Format 1 is the
// first, so there are no migrations yet.
var migrations = map[int]func(line []byte) ([]byte, error){}

// Loaded is a session that was read from disk. Its messages are not shared.
type Loaded struct {
	Session *Session
	Entry   Entry
	// Messages is the complete and paired history. Each assistant message is followed by the
	// results of its calls, in call order.
	Messages []*message.Message
	Commits  []*agent.Commit
	Pins     []agent.PinChange
	Queue    []agent.QueueEntry
	Config   json.RawMessage
	// Turns contains at least the last MaxTurns ended turns, including a turn that a crash ended.
	Turns       []agent.Turn
	Interrupted []Interrupted // calls without a result because of a crash
	Paused      bool
	LastSeq     uint64
	Problems    []Problem
	// InterruptedTurn is the turn that a crash ended, or "". The client may offer to continue it.
	InterruptedTurn string
}

// MaxTurns is the number of most recent turns that Load always keeps, if there are that many.
const MaxTurns = 256

// Restored returns the state from which the engine continues.
func (l *Loaded) Restored() agent.Restored {
	return agent.Restored{
		Messages: l.Messages, Commits: l.Commits, Pins: l.Pins, Queue: l.Queue,
		Title: l.Entry.Title, Usage: l.Entry.Usage,
		Turns: l.Turns, Paused: l.Paused,
	}
}

// Interrupted is a call that a crash left without a result, together with the result that was
// added.
type Interrupted struct {
	Call       *message.ToolCall
	TurnID     string
	Started    bool // the call was running and may have had effects
	ProposalID string
	Result     *message.Message
}

// Problem describes, for the user, a part of the log that could not be read.
type Problem struct {
	Line   int
	Offset int64
	Text   string
}

func (p Problem) String() string {
	return fmt.Sprintf("line %d (byte %d): %s", p.Line, p.Offset, p.Text)
}

// Load reads a session and opens it. It does not write, so it can also read a session that another
// process is writing. Loading a session that is open in this process returns the same Session,
// which must be idle.
func (l *Library) Load(id string) (*Loaded, error) {
	if s := l.opened(id); s != nil {
		return s.reload()
	}
	in, err := l.stored(id)
	if err == nil {
		l.keep(in.Session)
	}
	return in, err
}

// stored reads a session that is not open in this process. The caller owns the Session.
func (l *Library) stored(id string) (*Loaded, error) {
	r, err := l.read(id)
	if err != nil {
		return nil, err
	}
	s := &Session{lib: l, id: id, log: r.log, size: r.size, seen: r.seen, newline: r.newline}
	s.index.size = s.size
	s.repairs = r.repairs
	s.seq.Store(r.out.LastSeq)
	s.reserved.Store(r.log.entry.LastSeq)
	s.publish()
	r.out.Session = s
	r.out.Entry = s.Entry()
	return r.out, nil
}

// reload reads an open session's log again. It updates the Session only if another process has
// written to the log.
func (s *Session) reload() (*Loaded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.lib.read(s.id)
	if err != nil {
		return nil, err
	}
	if s.locked || r.seen == s.seen {
		r.out.LastSeq = max(r.out.LastSeq, s.seq.Load())
	} else { // another process has written in the meantime, so use its data
		s.log, s.size, s.seen, s.newline, s.repairs = r.log, r.size, r.seen, r.newline, r.repairs
		s.seq.Store(max(r.out.LastSeq, s.seq.Load()))
		s.reserved.Store(r.log.entry.LastSeq)
		s.publish()
	}
	r.out.Session = s
	r.out.Entry = s.Entry()
	return r.out, nil
}

// reader collects the records of a log.
type reader struct {
	lib      *Library
	out      *Loaded
	log      logState
	size     int64
	seen     int64
	newline  bool
	version  int
	messages []*message.Message // one message for each node
	started  map[string]callData
	strings  map[string]string
	repairs  []agent.Record
}

// read reads a whole log.
func (l *Library) read(id string) (*reader, error) {
	data, err := l.readLog(id)
	if err != nil {
		return nil, err
	}
	r := l.newReader(id, int64(len(data)))
	if err := r.lines(data); err != nil {
		return nil, fmt.Errorf("loading session %s: %w", id, err)
	}
	r.finish(data)
	return r, nil
}

func (l *Library) newReader(id string, size int64) *reader {
	return &reader{
		lib: l, out: &Loaded{}, log: newLogState(id), seen: size,
		version: Version, started: map[string]callData{}, strings: map[string]string{},
	}
}

func (l *Library) readLog(id string) ([]byte, error) {
	if !validID(id) {
		return nil, fmt.Errorf("session %q: %w", id, ErrUnknown)
	}
	info, err := os.Stat(l.logPath(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("session %s: %w", id, ErrUnknown)
	}
	if err != nil {
		return nil, fmt.Errorf("loading session %s: %w", id, err)
	}
	if l.tooLarge(info.Size()) {
		return nil, fmt.Errorf("loading session %s: its file %s has %d bytes; the limit is %d: %w",
			id, l.logPath(id), info.Size(), l.maxBytes()+maxLine, ErrFull)
	}
	data, err := os.ReadFile(l.logPath(id))
	if err != nil {
		return nil, fmt.Errorf("loading session %s: %w", id, err)
	}
	return data, nil
}

// lines processes each line. It returns an error if the log has a newer format or contains no
// complete line.
func (r *reader) lines(data []byte) error {
	for n, off := 1, 0; off < len(data); n++ {
		line, whole := data[off:], false
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line, whole = line[:i+1], true
		}
		ok, err := r.line(line, n, int64(off))
		if err != nil {
			return err
		}
		if !whole && !ok {
			r.torn(n, int64(off), len(line))
			break
		}
		if !whole {
			r.newline = true
		}
		off += len(line)
		r.size = int64(off)
	}
	if r.size == 0 {
		return errors.New("its file contains no complete line")
	}
	return nil
}

func (r *reader) torn(n int, off int64, length int) {
	if last := len(r.out.Problems) - 1; last >= 0 && r.out.Problems[last].Line == n {
		r.out.Problems = r.out.Problems[:last]
		r.log.entry.Damaged--
	}
	r.problem(n, off, fmt.Sprintf("the last line was not written completely; its %d bytes are dropped", length))
}

func (r *reader) problem(n int, off int64, text string) {
	r.out.Problems = append(r.out.Problems, Problem{Line: n, Offset: off, Text: text})
}

// line processes one line and reports whether it could be read.
func (r *reader) line(line []byte, n int, off int64) (bool, error) {
	if n == 1 {
		if meta, ok := headerOf(line); ok {
			if meta.Version > Version {
				return false, fmt.Errorf("it has format %d, but this version supports only formats up to %d: %w",
					meta.Version, Version, ErrNewer)
			}
			r.version = meta.Version
		}
	}
	text := line
	for v := r.version; v < Version; v++ {
		if m := migrations[v]; m != nil {
			var err error
			if text, err = m(text); err != nil {
				return r.damaged(n, off, "it cannot be converted to the current format: "+
					err.Error()), nil
			}
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return true, nil
	}
	var rec agent.Record
	if err := decode(text, &rec); err != nil {
		return r.damaged(n, off, "it is damaged ("+brief(err)+") and skipped"), nil
	}
	if rec.Type == "" || rec.Type == agent.RecordMessage && rec.Message == nil {
		return r.damaged(n, off, "it is not a session record and is skipped"), nil
	}
	r.record(&rec, off, len(line))
	return true, nil
}

func (r *reader) damaged(n int, off int64, text string) bool {
	r.problem(n, off, text)
	r.log.entry.Damaged++
	return false
}

// record processes one record.
func (r *reader) record(rec *agent.Record, off int64, n int) {
	if rec.Message != nil {
		r.intern(rec.Message)
	}
	r.log.apply(rec, off, n, r.lib.title)
	switch rec.Type {
	case agent.RecordMessage:
		r.messages = append(r.messages, rec.Message)
		if rec.Message.Role == message.RoleTool {
			delete(r.started, rec.Message.CallID)
		}
	case agent.RecordToolStart:
		var d callData
		if decode(rec.Data, &d) == nil {
			r.started[d.CallID] = d
		}
	case agent.RecordQueue:
		r.out.Queue = rec.Queue
	case agent.RecordTurnEnd:
		r.turn(rec.Turn)
	case agent.RecordCompaction:
		if rec.Commit != nil {
			r.out.Commits = append(r.out.Commits, rec.Commit)
		}
	case agent.RecordPin:
		if rec.Pin != nil {
			r.out.Pins = append(r.out.Pins, *rec.Pin)
		}
	case RecordConfig:
		r.out.Config = rec.Data
	case RecordPaused:
		var d pausedData
		if decode(rec.Data, &d) == nil {
			r.out.Paused = d.Paused
		}
	}
}

func (r *reader) turn(t *agent.Turn) {
	if t == nil {
		return
	}
	if len(r.out.Turns) >= 2*MaxTurns {
		r.out.Turns = append(r.out.Turns[:0], r.out.Turns[MaxTurns:]...)
	}
	r.out.Turns = append(r.out.Turns, *t)
}

// intern replaces equal strings in messages with one shared string, to save memory.
func (r *reader) intern(m *message.Message) {
	for _, s := range []*string{(*string)(&m.Role), &m.Model, &m.TurnID, &m.Author,
		(*string)(&m.Source), (*string)(&m.Stop), &m.Name} {
		*s = r.shared(*s)
	}
	for i := range m.Content {
		b := &m.Content[i]
		b.Type = message.BlockType(r.shared(string(b.Type)))
		if b.Call != nil {
			b.Call.Name = r.shared(b.Call.Name)
		}
	}
}

func (r *reader) shared(s string) string {
	if s == "" {
		return ""
	}
	if t, ok := r.strings[s]; ok {
		return t
	}
	r.strings[s] = s
	return s
}

// finish builds the history from the records and completes what a crash interrupted.
func (r *reader) finish(data []byte) {
	path := r.log.path()
	history := make([]*message.Message, len(path))
	on := make(map[string]bool, len(r.out.Commits))
	for _, c := range r.out.Commits {
		on[c.Through] = false
	}
	for i, n := range path {
		history[i] = r.messages[n]
		if _, ok := on[history[i].ID]; ok {
			on[history[i].ID] = true
		}
	}
	kept := r.out.Commits[:0]
	for _, c := range r.out.Commits {
		if on[c.Through] {
			kept = append(kept, c)
		}
	}
	r.out.Commits = kept
	r.out.LastSeq = r.log.entry.LastSeq
	r.showLost(history, data)
	r.out.Messages = r.pair(history)
	r.closeTurn()
}

// brief shortens a decoder's error to the part that is useful to the user.
func brief(err error) string {
	s := err.Error()
	s = strings.TrimPrefix(s, "jsontext: ")
	s = strings.TrimPrefix(s, "json: ")
	return clip.Bytes(s, 120)
}
