package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Prompt is a message that starts a turn or is queued for one.
type Prompt struct {
	Content         []message.Block
	Source          message.Source // "" means prompt, or followUp if the message is queued
	Delivery        Delivery       // "": DeliverAuto
	ClientMessageID string         // repeating the ID returns the same result
	Author          string         // "": user
	Pin             bool           // the message stays in the model's context after every reduction
	// Options are for the turn that the message starts. nil means that the settings apply.
	Options *TurnOptions
	Meta    map[string]json.RawMessage
}

// Accepted reports what happened to a prompt.
type Accepted struct {
	MessageID   string
	TurnID      string // "" while it is queued
	Disposition Disposition
}

// Disposition describes what happened to a prompt.
type Disposition string

// The dispositions.
const (
	DispositionStarted Disposition = "started"
	DispositionQueued  Disposition = "queued"
)

// SteerRequest is a message for the running turn.
type SteerRequest struct {
	Content        []message.Block
	ExpectedTurnID string
	IfIdle         IfIdle // "": IdleStartTurn
	// OneShot means that the message is sent only with the next model call and never stored. Such a
	// message does not cause calls to be skipped, and does not end a wait for the user.
	OneShot bool
	Role    message.Role
	Author  string
	Pin     bool // the message stays in the model's context after every reduction; not with OneShot
	// Options are for the turn that the message starts. They are ignored if it does not start one.
	Options *TurnOptions
}

// IfIdle determines what a steer does if no turn is running.
type IfIdle string

// The choices.
const (
	IdleStartTurn IfIdle = "startTurn"
	IdleQueue     IfIdle = "queue"
	IdleError     IfIdle = "error"
)

// SteerOutcome reports what happened to a steer.
type SteerOutcome struct {
	Outcome   string // injected, startedTurn, queued
	MessageID string
	TurnID    string
}

// The outcomes of a steer.
const (
	SteerInjected    = "injected"
	SteerStartedTurn = "startedTurn"
	SteerQueued      = "queued"
)

// AbortRequest contains the parameters of Abort.
type AbortRequest struct {
	TurnID string // "" means the running turn or Compact
	Silent bool   // add no marker to the history
	Ending bool   // the process is ending, so pending decisions are kept
}

// The results of Abort.
const (
	AbortAborting = "aborting"
	AbortIdle     = "idle"
)

// Prompt starts a turn or queues the message. It returns once the message is stored.
func (s *Session) Prompt(p Prompt) (Accepted, error) {
	if len(p.Content) == 0 {
		return Accepted{}, ErrEmptyPrompt
	}
	s.mu.Lock()
	acc, e, err := s.acceptLocked(p)
	s.mu.Unlock()
	if err != nil {
		return Accepted{}, err
	}
	if err := s.keep(e); err != nil {
		return Accepted{}, err
	}
	return acc, nil
}

// keep returns when the accepted prompt is synced to disk. e is the queued entry. It is nil if a
// turn started, because the turn itself reports a store error.
func (s *Session) keep(e *entry) error {
	stored := s.journal.flush()
	err := stored
	if err == nil {
		err = s.journal.sync()
	}
	if err != nil && e != nil && s.takeBack(e) {
		return err
	}
	if err != nil && stored == nil {
		s.Notice("error", err.Error())
	}
	return nil
}

// acceptLocked starts a turn or queues the prompt. It returns the entry of a queued prompt.
func (s *Session) acceptLocked(p Prompt) (Accepted, *entry, error) {
	if s.state.closed() {
		return Accepted{}, nil, ErrClosed
	}
	if acc, ok := s.inbox.clients[p.ClientMessageID]; ok && p.ClientMessageID != "" {
		return acc, nil, nil
	}
	starts := s.state.refuses(runStart) == nil && p.Delivery != DeliverQueue
	acc := Accepted{Disposition: DispositionStarted}
	if !starts {
		acc.Disposition = DispositionQueued
		if len(s.inbox.queue)+len(s.inbox.steers) >= s.queueLimitLocked() {
			return Accepted{}, nil, ErrOverloaded
		}
	}
	m := s.promptMessage(p, starts)
	acc.MessageID = m.ID
	stampClient(m, p.ClientMessageID, acc.Disposition)
	var e *entry
	if starts {
		acc.TurnID = s.launchLocked(&entry{msg: m})
	} else {
		e = &entry{msg: m, delivery: DeliverFollowUp, held: s.state.holds()}
		s.enqueueLocked(e)
	}
	if p.ClientMessageID != "" {
		s.inbox.clients[p.ClientMessageID] = acc
	}
	return acc, e, nil
}

func (s *Session) promptMessage(p Prompt, starts bool) *message.Message {
	m := s.userMessage(p.Content, p.Author)
	m.Meta = p.Meta
	pin(m, p.Pin)
	keepOptions(m, p.Options)
	switch {
	case p.Source != "":
		m.Source = p.Source
	case starts:
		m.Source = message.SourcePrompt
	default:
		m.Source = message.SourceFollowUp
	}
	return m
}

func (s *Session) userMessage(content []message.Block, author string) *message.Message {
	if author == "" {
		author = "user"
	}
	m := &message.Message{
		ID: s.opts.NewID("msg_"), Role: message.RoleUser, Content: content,
		Time: time.Now(), Author: author,
	}
	sanitize(m)
	return m
}

// pin marks a message as pinned if on is set, so that no reduction of the context removes or
// shortens the message.
func pin(m *message.Message, on bool) {
	if on {
		m.Meta = maps.Clone(m.Meta)
		setMeta(m, history.PinnedKey, true, true)
	}
}

func stampClient(m *message.Message, id string, d Disposition) {
	if id == "" {
		return
	}
	raw, err := json.Marshal(clientMeta{ID: id, Disposition: d})
	if err != nil {
		return
	}
	meta := make(map[string]json.RawMessage, len(m.Meta)+1)
	for k, v := range m.Meta {
		meta[k] = v
	}
	meta[clientKey] = raw
	m.Meta = meta
}

// Steer delivers a message to the running turn, after the running tool or at the next boundary. The
// rules are in protocol 3.2 (docs/reference/protocol/turns.md).
func (s *Session) Steer(r SteerRequest) (SteerOutcome, error) {
	if len(r.Content) == 0 {
		return SteerOutcome{}, ErrEmptyPrompt
	}
	if r.Role == message.RoleSystem && !r.OneShot {
		return SteerOutcome{}, fmt.Errorf("steering: the role system requires persist false")
	}
	s.mu.Lock()
	out, e, err := s.steerLocked(r)
	s.mu.Unlock()
	if err != nil {
		return SteerOutcome{}, err
	}
	if err := s.keep(e); err != nil {
		return SteerOutcome{}, err
	}
	return out, nil
}

func (s *Session) steerLocked(r SteerRequest) (SteerOutcome, *entry, error) {
	switch {
	case s.state.closed():
		return SteerOutcome{}, nil, ErrClosed
	case r.ExpectedTurnID != "" && (s.turn == nil || s.turn.id != r.ExpectedTurnID):
		return SteerOutcome{}, nil, ErrTurnMismatch
	case !s.state.busy() && r.IfIdle == IdleError:
		return SteerOutcome{}, nil, fmt.Errorf("steering: no turn is running: %w", ErrTurnMismatch)
	case len(s.inbox.queue)+len(s.inbox.steers)+len(s.conv.oneShots) >= s.queueLimitLocked():
		return SteerOutcome{}, nil, ErrOverloaded
	}
	if s.turn != nil || r.IfIdle != "" && r.IfIdle != IdleStartTurn {
		s.noOptionsLocked(&r)
	}
	m := s.userMessage(r.Content, r.Author)
	m.Source = message.SourceSteer
	keepOptions(m, r.Options)
	pin(m, r.Pin)
	if r.OneShot {
		return s.oneShotLocked(r, m)
	}
	e := &entry{msg: m, delivery: DeliverSteer}
	switch {
	case s.turn != nil:
		s.injectLocked(e)
		return SteerOutcome{Outcome: SteerInjected, MessageID: m.ID, TurnID: s.turn.id}, e, nil
	case s.state.refuses(runStart) != nil || r.IfIdle == IdleQueue:
		e.held = s.state.holds()
		s.enqueueLocked(e)
		return SteerOutcome{Outcome: SteerQueued, MessageID: m.ID}, e, nil
	}
	turnID := s.launchLocked(e)
	return SteerOutcome{Outcome: SteerStartedTurn, MessageID: m.ID, TurnID: turnID}, nil, nil
}

// oneShotLocked stores a message for the next model call only.
func (s *Session) oneShotLocked(r SteerRequest, m *message.Message) (SteerOutcome, *entry, error) {
	if r.Role == message.RoleSystem {
		m.Role = message.RoleSystem
	}
	out := SteerOutcome{Outcome: SteerInjected, MessageID: m.ID}
	switch {
	case s.turn != nil:
		out.TurnID = s.turn.id
	case s.state.refuses(runStart) != nil || r.IfIdle == IdleQueue:
		s.noOptionsLocked(&r)
		out.Outcome = SteerQueued
	default:
		if m.Role == message.RoleSystem && len(s.conv.messages) == 0 {
			return SteerOutcome{}, nil, ErrNothingToDo
		}
		s.conv.oneShots, s.pause.unsaid = append(s.conv.oneShots, m), r.Options
		out.Outcome, out.TurnID = SteerStartedTurn, s.launchLocked()
		return out, nil, nil
	}
	s.conv.oneShots = append(s.conv.oneShots, m)
	return out, nil, nil
}

// injectLocked queues a steer for the running turn and ends every wait for the user.
func (s *Session) injectLocked(e *entry) {
	s.inbox.steers = append(s.inbox.steers, e)
	s.board.delivered(e.msg.ID, s.turn.id)
	for w := range s.turn.waits {
		w.cancel(&tool.SteerError{Text: e.msg.TextContent()})
	}
	s.queueChangedLocked()
}

// Notify adds a message that the user did not type, such as the end of a job. It is delivered at
// the next boundary, or starts a turn if none is running and wake is set. The session takes
// ownership of m. Its ID, Time and Role are set if they are empty.
func (s *Session) Notify(m *message.Message, wake bool) {
	s.mu.Lock()
	if s.state.closed() {
		s.mu.Unlock()
		return
	}
	s.stamp(m)
	e := &entry{
		msg:      m,
		delivery: DeliverNote,
		wake:     wake,
		held:     wake && s.state.holds(),
	}
	if wake && s.state.refuses(runStart) == nil {
		s.launchLocked(e)
	} else {
		s.inbox.notes = append(s.inbox.notes, e)
		s.board.queued(m.ID)
		s.recordQueueLocked()
	}
	s.mu.Unlock()
	// Messages that could not be stored stay pending. The next turn reports the error.
	_ = s.journal.flush()
}

func (s *Session) stamp(m *message.Message) {
	if m.ID == "" {
		m.ID = s.opts.NewID("msg_")
	}
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	if m.Role == "" {
		m.Role = message.RoleUser
	}
}

// Abort aborts the running turn or Compact. It never waits and may be called any number of times.
func (s *Session) Abort(r AbortRequest) (state string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn == nil && s.compaction.cancel != nil && r.TurnID == "":
		s.compaction.cancel(ErrAborted)
		return AbortAborting, nil
	case s.turn == nil:
		return AbortIdle, nil
	case r.TurnID != "" && r.TurnID != s.turn.id:
		if s.board.hasEnded(r.TurnID) {
			return AbortIdle, nil
		}
		return "", ErrTurnMismatch
	}
	cause := ErrAborted
	if r.Ending {
		cause = closing{ErrAborted}
	}
	s.abortLocked(r.Silent, cause)
	return AbortAborting, nil
}

func (s *Session) abortLocked(silent bool, cause error) {
	if s.mustLocked(runAbort) {
		s.turn.silent = silent
	}
	s.turn.cancel(cause)
}

// Continue starts a turn that continues from the history, or a turn that begins with the first
// queued message. If Resume has just started a turn, Continue returns that turn.
func (s *Session) Continue() (turnID string, err error) {
	s.mu.Lock()
	turnID, err = s.continueLocked()
	s.mu.Unlock()
	if err == nil {
		_ = s.journal.flush() // the turn reports an error
	}
	return turnID, err
}

func (s *Session) continueLocked() (string, error) {
	if t := s.pause.resumed; t != nil && !s.state.closed() {
		s.pause.resumed = nil
		return t.id, nil
	}
	if err := s.state.refuses(runStart); err != nil {
		return "", err
	}
	switch {
	case len(s.inbox.queue) > 0:
		return s.launchLocked(s.takeLocked(&s.inbox.queue, QueueOneAtATime)...), nil
	case len(s.conv.messages) == 0 && len(s.inbox.notes) == 0:
		return "", ErrNothingToDo
	case s.answeredLocked() && len(s.inbox.notes) == 0:
		return "", ErrNothingToDo
	}
	return s.launchLocked(), nil
}

// answeredLocked reports whether the history is empty or ends with a complete reply.
func (s *Session) answeredLocked() bool {
	tail := s.tailLocked()
	return tail == nil ||
		tail.Role == message.RoleAssistant && (tail.Stop == message.StopEnd || tail.Stop == "")
}

// tailLocked returns the last message that the model sees, or nil.
func (s *Session) tailLocked() *message.Message {
	for _, m := range slices.Backward(s.conv.view.msgs) {
		if forModel(m) {
			return m
		}
	}
	return nil
}

// Wait waits until a turn has ended, and returns the turn. It waits for the turn with the ID
// turnID, or for the turn to which the message went. If both IDs are empty, it waits for the
// running turn or, if none is running, returns the last one. If ctx ends first, the turn's Status
// is running and the error is ctx's cause.
func (s *Session) Wait(ctx context.Context, turnID, messageID string) (Turn, error) {
	return s.board.wait(ctx, turnID, messageID)
}
