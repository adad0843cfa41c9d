package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
	"github.com/agent-lsp/agent-lsp/internal/panics"
)

// turn is one turn of a session. It begins with the messages that start it, and ends with an answer
// without tool calls or for another reason. The turn's goroutine owns the fields, unless stated
// otherwise.
type turn struct {
	id      string
	ctx     context.Context
	cancel  context.CancelCauseFunc
	options *TurnOptions // options of the turn's first message; nil means the settings
	// step is the Step of the current model call. It is never changed, but replaced before the next
	// call.
	step  *Step
	extra []*message.Message // messages of the step that are not yet in the history
	sum   Turn

	begun   bool   // whether the hooks for the start of the turn were called
	started func() // lets the next turn start; may be called more than once
	phase   string // the phase that an abort would interrupt: inference or tool_execution
	replies replies
	ends    bool // whether a tool's result ends the turn

	// The session's lock guards these fields.
	fresh  []*message.Message // user messages that no hook has seen
	silent bool               // an abort of the turn leaves no marker
	waits  map[*wait]struct{}

	plan planItem
}

// replies records facts about the model's previous replies. The turn uses them to decide about the
// next reply.
type replies struct {
	// partial is the text of a reply that was aborted, or stopped because it was too long.
	partial    string
	nudge      *message.Message // sent with the next call only
	skips      []string         // notices about skipped providers
	previous   *message.Message // the previous assistant message of this turn
	afterTools bool             // whether the last event was a tool result
	budget     repair.Budget    // counts since tools last ran, like rephrased
	rephrased  int
	vetoes     int // in the whole turn
}

// The phases of a turn that an abort can interrupt.
const (
	PhaseInference     = "inference"
	PhaseToolExecution = "tool_execution"
)

// outcome is the reason why a turn ends.
type outcome struct {
	reason EndReason
	err    *TurnError
	paused bool // the daemon ended while the turn was paused
}

// launchLocked starts a turn with the given messages. The caller flushes the journal.
func (s *Session) launchLocked(entries ...*entry) string {
	t := s.beginLocked(entries)
	s.wg.Go(func() { s.run(t) })
	return t.id
}

func (s *Session) beginLocked(entries []*entry) *turn {
	t := &turn{
		step:  &Step{},
		id:    s.opts.NewID("turn_"),
		phase: PhaseInference,
		waits: map[*wait]struct{}{},
		fresh: s.inbox.unseen,
	}
	t.options = s.optionsFor(entries)
	s.inbox.unseen = nil
	t.ctx, t.cancel = context.WithCancelCause(s.ctx)
	t.sum = Turn{TurnID: t.id, Status: TurnStatusRunning}
	s.mustLocked(runStart)
	s.turn, s.pause.resumed = t, nil
	s.unholdLocked()
	s.board.started(t.id)
	s.journal.add(
		Record{Type: RecordTurnStart, Turn: &Turn{TurnID: t.id, Status: TurnStatusRunning}},
	)
	var ids []string
	for _, e := range entries {
		if ids = append(ids, e.msg.ID); s.conv.title == "" && !e.msg.Hidden {
			s.conv.title = s.titleOf(e.msg)
		}
	}
	s.changedLocked()
	s.em.emit(TurnStarted{TurnID: t.id, MessageIDs: ids})
	for _, e := range append(s.takeLocked(&s.inbox.notes, QueueAll), entries...) {
		s.commitUserLocked(e.msg)
	}
	s.recordQueueLocked()
	tail := s.tailLocked()
	if tail != nil && tail.Role == message.RoleAssistant && !s.oneShotPromptLocked() {
		t.replies.nudge = nudgeMessage(t, nudgeResume)
	}
	return t
}

// run runs turns until no other turn may start automatically.
func (s *Session) run(t *turn) {
	for t != nil {
		t = s.finish(t, s.play(t))
	}
}

// play runs a turn until it should end. A panic of the engine itself fails the turn.
func (s *Session) play(t *turn) (out outcome) {
	err := panics.Catch(func() error {
		out = s.loop(t)
		return nil
	})
	if err != nil {
		s.bug("turn %s: %v\n%s", t.id, err, err.(*panics.Error).Stack)
		return failure(retry.Client, fmt.Sprintf("the engine failed: %v", err), false)
	}
	return out
}

func (s *Session) loop(t *turn) outcome {
	t.started = s.opts.Starts.enter(t.ctx)
	defer t.started()
	for {
		if s.hold(t) {
			return outcome{reason: EndAborted, paused: true}
		}
		err := s.nextStep(t)
		if refused := s.begin(t); refused != nil {
			err = refused
		}
		if err != nil {
			s.arrive(t) // the turn ends, and the messages of its step are kept
			return s.failed(t, err)
		}
		if s.intercepted(t) {
			continue
		}
		if out, end := s.boundary(t); end {
			return out
		}
		if err := s.beforePrompts(t); err != nil {
			return s.failed(t, err)
		}
		reply, st, err := s.infer(t)
		if err != nil {
			return s.failed(t, err)
		}
		if out, end := s.settle(t, reply, st); end && (out.err != nil || !s.steered()) {
			return out
		}
	}
}

// begin calls the hooks for the start of a turn before its first model call.
func (s *Session) begin(t *turn) error {
	if t.begun {
		return nil
	}
	t.begun = true
	s.sessionStarts(t)
	return s.beforeRun(t)
}

func (s *Session) beforeRun(t *turn) error {
	for h := range hooksOf[RunHook](s) {
		if err := s.guard(t.ctx, h.Hook,
			func(ctx context.Context) error { return h.As.BeforeRun(ctx, t.id) }); err != nil {
			return err
		}
	}
	return nil
}

// nextStep gets the turn's next step from the environment.
func (s *Session) nextStep(t *turn) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	info := TurnInfo{TurnID: t.id, Begins: !t.begun, Options: t.options}
	step, err := s.askEnvironment(t.ctx, info)
	t.step, t.extra = step, step.Messages
	return err
}

// askEnvironment gets a step from the environment and never returns nil. A step that is returned
// with an error may still contain messages and hooks.
func (s *Session) askEnvironment(ctx context.Context, turn TurnInfo) (*Step, error) {
	step := &Step{}
	if s.opts.Environment == nil {
		return step, ErrNoProvider
	}
	err := panics.Catch(func() (err error) {
		*step, err = s.opts.Environment.Next(ctx, turn)
		return err
	})
	if err == nil && len(step.Models) == 0 {
		err = ErrNoProvider
	}
	s.mu.Lock()
	s.hooks.list = step.Hooks
	s.mu.Unlock()
	return step, err
}

// boundary runs between a step and the next model call. It adds waiting messages to the history,
// and may end the turn.
func (s *Session) boundary(t *turn) (outcome, bool) {
	s.mu.Lock()
	out, end := s.limitsLocked(t)
	if !end {
		s.arriveLocked(t)
	}
	s.mu.Unlock()
	if end {
		return out, true
	}
	if err := s.journal.flush(); err != nil {
		return s.failed(t, err), true
	}
	return outcome{}, false
}

// arrive delivers the messages of a step that makes no model call.
func (s *Session) arrive(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commitStepLocked(t)
}

func (s *Session) commitStepLocked(t *turn) {
	for _, m := range t.extra {
		s.stamp(m)
		s.commitUserLocked(m)
	}
	t.extra = nil
}

// arriveLocked delivers the messages that wait for the boundary. The user's own messages come last.
func (s *Session) arriveLocked(t *turn) {
	s.commitStepLocked(t)
	mode := t.step.SteeringMode
	if mode == "" {
		mode = QueueAll
	}
	waiting := append(
		s.takeLocked(&s.inbox.notes, QueueAll),
		s.takeLocked(&s.inbox.steers, mode)...)
	s.deliverLocked(waiting)
}

func (s *Session) limitsLocked(t *turn) (outcome, bool) {
	l := t.step.Limits
	switch calls := l.maxModelCalls(); {
	case t.ctx.Err() != nil:
		return outcome{reason: EndAborted}, true
	case calls > 0 && t.sum.ModelCalls >= calls:
		return outcome{reason: EndMaxModelCalls}, true
	case l.Tokens > 0 && t.sum.Usage.Total >= l.Tokens, l.Cost > 0 && t.sum.Usage.Cost >= l.Cost:
		return outcome{reason: EndBudget}, true
	}
	return outcome{}, false
}

func (s *Session) steered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inbox.steers) > 0
}

// finish ends a turn. It returns the next turn if the queue may continue automatically. If a turn
// ended normally but a steer arrived after its last boundary, the turn resumes.
func (s *Session) finish(t *turn, out outcome) *turn {
	s.mu.Lock()
	if out.reason == EndStop && len(s.inbox.steers) > 0 && s.state == runRunning {
		s.mu.Unlock()
		return t
	}
	s.concludeLocked(t, out)
	s.mu.Unlock()
	if err := s.journal.flush(); err != nil {
		s.Notice("error", err.Error())
	}
	s.mu.Lock()
	next := s.endLocked(t, out)
	sum := t.sum
	s.board.end(sum)
	s.mu.Unlock()
	t.cancel(nil)
	// Messages that could not be stored stay pending. The next turn reports the error.
	_ = s.journal.flush()
	s.afterRun(sum)
	return next
}

// concludeLocked completes the history of the turn. Every call gets a result.
func (s *Session) concludeLocked(t *turn, out outcome) {
	s.pairTailLocked(t)
	t.sum.Status, t.sum.EndReason, t.sum.Error = statusOf(out), out.reason, out.err
	t.sum.Usage, s.unbilled = t.sum.Usage.Add(s.unbilled), message.Usage{}
	switch {
	case out.reason == EndAborted && !out.paused:
		t.sum.AbortPhase = t.phase
		s.markAbortLocked(t)
	case out.reason == EndError && t.replies.partial != "":
		s.keepPartialLocked(t)
	}
	sum := t.sum
	s.journal.add(Record{Type: RecordTurnEnd, Turn: &sum})
}

// endLocked closes the turn. Undelivered steers join the queue, and TurnCompleted is the turn's
// last event. endLocked returns the next turn, or nil if none starts automatically.
func (s *Session) endLocked(t *turn, out outcome) *turn {
	if len(s.inbox.steers) > 0 {
		for _, e := range s.inbox.steers {
			s.board.undelivered(e.msg.ID)
		}
		s.inbox.queue = append(s.inbox.steers, s.inbox.queue...)
		s.inbox.steers = nil
		s.recordQueueLocked()
	}
	for w := range t.waits {
		w.cancel(context.Canceled)
	}
	goesOn := s.state.goesOn()
	s.mustLocked(runEnd)
	s.turn, s.inbox.unseen = nil, t.fresh
	t.plan.close(s, t.id)
	s.em.emit(TurnCompleted{Turn: t.sum})
	var next *turn
	if goesOn {
		next = s.nextLocked(t)
	}
	if next == nil {
		s.changedLocked()
	}
	return next
}

func statusOf(out outcome) string {
	switch out.reason {
	case EndAborted:
		return TurnStatusAborted
	case EndError, EndContentFilter:
		return TurnStatusFailed
	}
	return TurnStatusCompleted
}

// pairTailLocked adds results for the unanswered calls at the end of the history. The results state
// that the calls did not complete.
func (s *Session) pairTailLocked(t *turn) {
	for _, c := range openCalls(s.conv.messages) {
		s.commitLocked(resultMessage(s, t, c, &tool.Result{Text: toolcall.CancelledText,
			IsError: true}),
			false)
	}
}

// markAbortLocked adds the marker of an abort to the history.
func (s *Session) markAbortLocked(t *turn) {
	if t.silent {
		return
	}
	text := AbortedText
	if t.phase == PhaseToolExecution {
		text = AbortedToolsText
	}
	m := message.NewText(message.RoleAssistant, text)
	if t.replies.partial != "" {
		m.Content = []message.Block{{Type: message.Text, Text: t.replies.partial + "\n\n" + text}}
	}
	m.Stop, m.AbortPhase = message.StopAborted, t.phase
	s.stampAssistant(t, m)
	s.commitLocked(m, false)
}

// maxPartial is the maximum number of bytes that the history keeps of a reply that was stopped
// because it was too long.
const maxPartial = 64 << 10

// keepPartialLocked stores the beginning of a reply that was stopped because it was too long. The
// part after maxPartial is dropped, because such a reply mostly repeats itself.
func (s *Session) keepPartialLocked(t *turn) {
	text := t.replies.partial
	if len(text) > maxPartial {
		text = strings.ToValidUTF8(text[:maxPartial], "")
	}
	m := message.NewText(message.RoleAssistant, text+"\n\n"+StoppedText)
	m.Stop = message.StopError
	s.stampAssistant(t, m)
	s.commitLocked(m, false)
}

func (s *Session) stampAssistant(t *turn, m *message.Message) {
	m.Role, m.TurnID, m.Author, m.Time = message.RoleAssistant, t.id, "agent", time.Now()
	if m.ID == "" {
		m.ID = s.opts.NewID("msg_")
	}
}

// nextLocked begins the next turn if the queue may continue automatically. It may do so after a
// turn that completed, unless the session is paused.
func (s *Session) nextLocked(t *turn) *turn {
	if t.sum.Status != TurnStatusCompleted {
		return nil
	}
	if s.state == runPaused {
		s.holdBackLocked()
		return nil
	}
	mode := t.step.FollowUpMode
	if mode == "" {
		mode = QueueOneAtATime
	}
	switch {
	case len(s.inbox.queue) > 0:
		return s.beginLocked(s.takeTurnLocked(mode))
	case hasWake(s.inbox.notes):
		return s.beginLocked(s.takeLocked(&s.inbox.notes, QueueAll))
	}
	return nil
}

// holdBackLocked records that only the pause prevents the waiting messages from starting. A resume
// continues with them, even after a restart.
func (s *Session) holdBackLocked() {
	first := slices.Concat(
		s.inbox.queue,
		slices.DeleteFunc(slices.Clone(s.inbox.notes), func(e *entry) bool { return !e.wake }),
	)
	if len(first) == 0 {
		return
	}
	first[0].held = true
	s.recordQueueLocked()
}

func hasWake(notes []*entry) bool {
	for _, e := range notes {
		if e.wake {
			return true
		}
	}
	return false
}

func (s *Session) afterRun(sum Turn) {
	for h := range hooksOf[RunEndHook](s) {
		s.wg.Go(func() {
			err := s.guard(
				s.ctx,
				h.Hook,
				func(ctx context.Context) error { return h.As.AfterRun(ctx, sum) },
			)
			if err != nil && s.ctx.Err() == nil {
				s.Notice("warning", err.Error())
			}
		})
	}
}
