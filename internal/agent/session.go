package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/keylock"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// Session is one conversation: its history, its queue, and at most one running turn. Its methods
// may be called from any goroutine. Only Wait, Compact and Close wait for a turn, a tool, a
// provider or the sink.
//
// Lock order: mu, then the emitter's lock. Events that report a transition are emitted under mu, so
// that their order is the order of the transitions. Nothing that can block is called under mu.
type Session struct {
	opts    Options
	em      *emitter
	journal *journal
	tools   toolcall.Breakers
	locks   *keylock.Locks
	board   *board
	wg      sync.WaitGroup  // every goroutine of the session
	ctx     context.Context // canceled by Close
	stop    context.CancelCauseFunc

	mu       sync.Mutex
	state    runState
	turn     *turn // the running turn, or nil
	conv     conversation
	inbox    inbox
	pause    pausing
	hooks    hookState
	notified map[string]bool // one-time notices that have been shown
	usage    message.Usage
	unbilled message.Usage // part of usage that no turn contains yet

	compaction compactions
}

// conversation contains the history, from which the model's requests and the clients' view of the
// session are created. The session's lock guards it.
type conversation struct {
	messages []*message.Message
	view     view
	pins     pins
	callIDs  map[string]bool
	oneShots []*message.Message
	active   map[string]bool // deferred tools that were loaded, in lower case
	title    string
}

// inbox contains the messages that wait to become part of the conversation. The session's lock
// guards it.
type inbox struct {
	steers  []*entry            // delivered to the running turn
	queue   []*entry            // each entry starts or joins a turn
	notes   []*entry            // delivered at the next boundary
	unseen  []*message.Message  // messages that no hook had received when the last turn ended
	limit   int                 // maximum number of waiting messages; 0 means DefaultQueueLimit
	clients map[string]Accepted // by ClientMessageID
}

// hookState records the current hooks, and which of the session's lifecycle hooks were called. The
// session's lock guards it.
type hookState struct {
	list     []Hook // the hooks of the last step
	started  bool   // whether the hooks of the session's start were called
	restored bool   // whether the session was loaded from the store
}

// compactions records the reductions of the conversation. The session's lock guards it.
type compactions struct {
	cancel    context.CancelCauseFunc // cancels the running Compact; nil if none is running
	commits   int                     // number of reductions since the session was created
	strategy  string                  // strategy of the last reduction
	fruitless int                     // number of consecutive reductions that saved too little
	unsummed  int                     // number of consecutive failed summaries
}

// entry is a message that waits to be delivered.
type entry struct {
	msg      *message.Message
	delivery Delivery
	wake     bool
	held     bool // arrived while the session was paused; a resume starts it
}

// NewSession returns an idle session, or a paused one if it was stored paused. It has no goroutine
// until a turn starts, but it must always be closed.
func NewSession(opts Options) *Session {
	if opts.NewID == nil {
		opts.NewID = randomID
	}
	s := &Session{
		opts: opts, em: &emitter{id: opts.ID, sink: opts.Sink},
		journal: &journal{store: opts.Store},
		locks:   opts.Locks, board: newBoard(),
		conv:  conversation{callIDs: map[string]bool{}, active: map[string]bool{}},
		inbox: inbox{limit: opts.QueueLimit, clients: map[string]Accepted{}},
	}
	if s.locks == nil {
		s.locks = &keylock.Locks{}
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.restore(opts.Restored)
	s.opts.Restored = Restored{}
	return s
}

func randomID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:16]) }

// State returns a snapshot of the session.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stateLocked()
}

func (s *Session) stateLocked() State {
	st := State{
		Status: s.statusLocked(), Title: s.conv.title, Usage: s.usage, Queue: s.queueLocked(),
		Messages: len(
			s.conv.messages,
		), ContextTokens: s.conv.view.meter.Used(), ContextWindow: s.conv.view.window,
		Pinned: s.conv.pins.list,
	}
	if s.turn != nil {
		st.TurnID = s.turn.id
	}
	return st
}

func (s *Session) statusLocked() Status {
	if s.turn != nil && len(s.turn.waits) > 0 {
		return SessionAwaiting
	}
	return runShown[s.state]
}

// changedLocked reports the current state to the sink.
func (s *Session) changedLocked() { s.em.emit(StateChanged{State: s.stateLocked()}) }

// Messages returns the stored history. While a turn runs, its last calls may have no result yet.
func (s *Session) Messages() []*message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.conv.messages)
}

// SetTitle sets the session's title.
func (s *Session) SetTitle(title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conv.title = title
	s.changedLocked()
}

// UpdateTitle sets the title to the string that the function title returns. The session's lock is
// held while the function runs, so that an older title cannot replace one that another caller sets
// at the same time.
func (s *Session) UpdateTitle(title func() string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conv.title = title()
	s.changedLocked()
}

// Notice shows a line of text to the user. level is info, warning or error.
func (s *Session) Notice(level, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noticeLocked(level, text)
}

func (s *Session) noticeLocked(level, text string) {
	turnID := ""
	if s.turn != nil {
		turnID = s.turn.id
	}
	it := Item{
		ID:        s.opts.NewID("item_"),
		Type:      ItemNotice,
		CreatedAt: time.Now(),
		Level:     level,
		Text:      text,
	}
	s.em.emit(ItemStarted{TurnID: turnID, Item: it})
	s.em.emit(ItemCompleted{TurnID: turnID, Item: it})
}

// Close aborts the running turn or Compact. Afterwards, no turn can start and no message is
// accepted. It returns when every goroutine of the session has ended. If ctx ends first, it returns
// ctx's error.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.turn != nil {
		s.abortLocked(true, closing{ErrClosed})
	}
	s.mustLocked(runClose)
	if s.compaction.cancel != nil {
		s.compaction.cancel(ErrClosed)
	}
	s.mu.Unlock()
	s.sessionEnds(ctx)
	s.stop(ErrClosed)
	s.board.close()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return s.journal.flush()
	case <-ctx.Done():
		return fmt.Errorf("closing session %s: %w", s.opts.ID, context.Cause(ctx))
	}
}

// commitLocked adds a message to the history. The message must not be changed afterwards.
func (s *Session) commitLocked(m *message.Message, sync bool) {
	s.conv.messages = append(s.conv.messages, m)
	s.conv.view.append(m)
	s.conv.pins.add(m)
	s.journal.add(Record{Type: RecordMessage, Message: m, Sync: sync})
}

func (s *Session) bug(format string, args ...any) {
	if s.opts.Bug != nil {
		s.opts.Bug(format, args...)
	}
}

// restore applies the stored state. Calls that the restart interrupted get their results now.
func (s *Session) restore(r Restored) {
	missing := func(m *message.Message, c *message.ToolCall) *message.Message {
		res := message.NewText(message.RoleTool, interruptedText(r, c))
		res.ID, res.CallID, res.Name, res.IsError = s.opts.NewID("msg_"), c.ID, c.Name, true
		res.Time, res.TurnID, res.Author = time.Now(), m.TurnID, "tools"
		s.journal.add(Record{Type: RecordMessage, Message: res})
		return res
	}
	s.conv.messages = slices.Clone(history.Pair(r.Messages, missing))
	s.conv.view.restore(s.conv.messages, r.Commits)
	s.restorePins(r.Pins)
	for _, m := range s.conv.messages {
		for _, c := range m.ToolCalls() {
			s.conv.callIDs[c.ID] = true
		}
		s.rememberClient(m, m.TurnID)
		s.activateLocked(Activated(m))
	}
	s.activateLocked(r.Activated)
	s.hooks.restored = len(r.Messages) > 0
	s.conv.title, s.usage = r.Title, r.Usage
	if r.Paused {
		s.mustLocked(runPause)
	}
	s.board.restore(r.Turns, s.conv.messages)
	for _, q := range r.Queue {
		s.restoreEntry(q)
	}
	if s.pause.held = r.Paused && s.interrupted(r.Turns); s.pause.held {
		s.pause.unsaid = s.stoppedOptions(r.Turns)
	}
}

// interrupted reports whether the last turn stopped before it was complete, for example because of
// a pause.
func (s *Session) interrupted(turns []Turn) bool {
	if len(turns) == 0 || s.answeredLocked() {
		return false
	}
	last := turns[len(turns)-1]
	return last.EndReason == EndAborted && last.AbortPhase == ""
}

func interruptedText(r Restored, c *message.ToolCall) string {
	if r.ResultFor != nil {
		if t := r.ResultFor(c); t != "" {
			return t
		}
	}
	if r.Started[c.ID] {
		return InterruptedText
	}
	return NotRunText
}

func (s *Session) restoreEntry(q QueueEntry) {
	m := &message.Message{
		ID: q.MessageID, Role: message.RoleUser, Content: q.Content, Source: q.Source,
		Hidden: q.Hidden, Author: q.Author, Meta: q.Meta, Time: time.Now(),
	}
	e := &entry{msg: m, delivery: q.Delivery, wake: q.Wake, held: q.Held}
	if slices.ContainsFunc(s.conv.messages, func(h *message.Message) bool { return h.ID == m.ID }) {
		return // the message was delivered just before the process ended
	}
	s.rememberClient(m, "")
	s.board.queued(m.ID)
	if q.Delivery == DeliverNote {
		s.inbox.notes = append(s.inbox.notes, e)
		return
	}
	s.inbox.queue = append(s.inbox.queue, e)
}

// clientKey is the key in message.Message.Meta for a prompt's client ID.
const clientKey = "client"

type clientMeta struct {
	ID          string      `json:"id"`
	Disposition Disposition `json:"disposition"`
}

func (s *Session) rememberClient(m *message.Message, turnID string) {
	raw, ok := m.Meta[clientKey]
	var c clientMeta
	if !ok || json.Unmarshal(raw, &c) != nil {
		return
	}
	if c.Disposition == DispositionQueued {
		turnID = ""
	}
	s.inbox.clients[c.ID] = Accepted{MessageID: m.ID, TurnID: turnID, Disposition: c.Disposition}
}

// titleOf derives a title from the first line of a prompt.
func (s *Session) titleOf(m *message.Message) string {
	line, _, _ := strings.Cut(strings.TrimSpace(m.ShownText()), "\n")
	if s.opts.Redact != nil {
		line = s.opts.Redact(line)
	}
	return clip.Line(line, maxTitle)
}
