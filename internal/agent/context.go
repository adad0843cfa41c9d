package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/panics"
	"github.com/agent-lsp/agent-lsp/internal/pause"
)

// ContextConfig configures how the history is kept within a model's window. Zero values mean the
// defaults.
type ContextConfig struct {
	Window   int      // in tokens; 0 means the model's window or, if that is unknown, no limit
	Reserve  int      // tokens kept free for the reply, at most a quarter of the window
	Trigger  float64  // share of the window at which the history is reduced
	Target   float64  // target size of a reduction, as a share of the window
	Recent   int      // tokens of the latest messages that are neither summarized nor dropped
	Reducers []string // names of the reducers, or of a single strategy; empty means adaptive
	Summary  Model    // writes summaries; nil means the session's first model
}

// Constants of the context reduction.
const (
	DefaultTrigger = 0.85
	// TargetShare is the target size of a reduction, as a share of the window. It leaves enough
	// room to delay the next reduction.
	TargetShare = 0.60
	// RecoveryShare is the target size of a forced reduction, as a share of the refused request's
	// size.
	RecoveryShare = 0.70
	// ReserveShare is the share of the window that is kept for the reply, within the two bounds
	// below.
	ReserveShare = 0.13
	MinReserve   = 4096
	MaxReserve   = 16384
	// FreeFloor is the number of tokens that the trigger leaves free, at most a quarter of the
	// window.
	FreeFloor = 12000
	// MaxRefusals is the maximum number of times that one call is shortened and sent again before
	// the turn fails.
	MaxRefusals = 6
	// MaxFruitless is the number of consecutive unsuccessful reductions after which the history is
	// reduced only if the next call would not fit. After the same number of failed summaries, no
	// more summaries are requested.
	MaxFruitless = 3
	// minLearned is the minimum number of message tokens in a refused call from which a smaller
	// window is learned. A provider does not refuse a shorter call because of its length, even if
	// the error says so. A window learned from such a call would leave no room for messages.
	minLearned = 1000
	// Compact does not change the latest messages, up to target/recentShare tokens.
	recentShare = 4
	// minProgress is the minimum share of tokens that a successful reduction saves.
	minProgress = 0.05
)

// budget contains the sizes derived from one model's window.
type budget struct {
	window, limit, trigger, target int
	learned                        bool // whether a refusal has shown the real window
}

// budget derives the sizes from the configured window, or from the window that the model reports.
// learned is the window derived from a provider's refusal, or 0 if there was none. It replaces a
// larger or unknown window.
func (c ContextConfig) budget(m Model, learned int) budget {
	w := c.Window
	if w == 0 {
		w = m.Info().ContextWindow
	}
	taught := learned > 0 && (w <= 0 || learned < w)
	if taught {
		w = learned
	}
	if w <= 0 {
		return budget{}
	}
	reserve := c.Reserve
	if reserve <= 0 {
		reserve = min(max(int(float64(w)*ReserveShare), MinReserve), MaxReserve)
	}
	reserve = min(reserve, w/4)
	share := c.Trigger
	if share <= 0 || share > 1 {
		share = DefaultTrigger
	}
	b := budget{window: w, limit: w - reserve, learned: taught}
	b.trigger = min(int(float64(w)*share), b.limit, w-min(FreeFloor, w/4))
	aim := c.Target
	if aim <= 0 || aim > 1 {
		aim = TargetShare
	}
	b.target = min(int(float64(w)*aim), b.trigger*3/4)
	return b
}

// fit reduces the history before a call whose estimated size comes too close to the window.
func (s *Session) fit(t *turn) error {
	s.mu.Lock()
	b := s.conv.view.budget(t.step.Context, t.step.Models[0])
	s.conv.view.window = b.window
	s.conv.view.meter.SetOverhead(t.step.overhead(s.conv.active))
	used := s.conv.view.meter.Used()
	tired := s.compaction.fruitless >= MaxFruitless
	s.mu.Unlock()
	if b.window == 0 || used <= b.trigger || tired && used <= b.limit {
		return nil
	}
	return s.reduce(t.ctx, t, t.step, b, "")
}

// fitForced reduces the history after the provider's n-th refusal, even if the history fits
// according to the estimate.
func (s *Session) fitForced(t *turn, refused *retry.Error, n int) error {
	s.mu.Lock()
	used := s.learnWindow(t.step, refused, n)
	b := s.conv.view.budget(t.step.Context, t.step.Models[0])
	s.conv.view.window = b.window
	before := len(s.conv.view.msgs)
	s.mu.Unlock()
	b.target = int(float64(used) * RecoveryShare)
	if b.window > 0 {
		b.target = min(b.target, int(float64(b.window)*TargetShare))
	}
	b.limit, b.learned = max(b.limit, b.target), true
	if err := s.reduce(t.ctx, t, t.step, b, ""); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch overhead := s.conv.view.meter.Overhead(); {
	case len(s.conv.view.msgs) != before || s.conv.view.meter.Used() < used:
		return nil
	case b.window > 0 && overhead >= b.limit:
		return tooLargeAlone(overhead, b.window)
	}
	return overflow(refused.Message)
}

func tooLargeAlone(overhead, window int) error {
	return overflow(fmt.Sprintf("the system prompt and the tools alone need about %d of the window's %d tokens", overhead, window))
}

// learnWindow derives the size of the window from a refusal. It uses the size that the provider
// reports, or else the size of the refused call. If a reduction did not help, it uses half of that
// size. It returns the tokens of the refused call. The caller must hold mu.
func (s *Session) learnWindow(step *Step, refused *retry.Error, n int) (used int) {
	m, meter := step.Models[0], &s.conv.view.meter
	if refused.Window > 0 {
		s.conv.view.learn(m, refused.Window)
		meter.Refused(refused.Window)
		return meter.Used()
	}
	if n == 1 {
		meter.Refused(s.conv.view.budget(step.Context, m).window)
	}
	used = meter.Used()
	if used-meter.Overhead() < minLearned {
		return used
	}
	if n > 1 {
		s.conv.view.learn(m, used/2)
	} else {
		s.conv.view.learn(m, used)
	}
	return used
}

func overflow(text string) error {
	return &retry.Error{Kind: retry.ContextOverflow, Message: text,
		Hint: "shorten the last message, compact the session, start a new one, or use a model with a larger window"}
}

// overhead estimates the tokens that are sent in addition to the messages.
func (st *Step) overhead(active map[string]bool) int {
	n := 0
	for _, b := range st.System {
		n += len(b.Text) / 4
	}
	for _, t := range st.Tools.Active(active) {
		n += (len(t.Spec.Name) + len(t.Spec.Description) + len(t.Spec.Schema)) / 4
	}
	return n
}

// reduce runs the reducers and commits the result. No other goroutine adds to the history in the
// meantime, because either the turn's own goroutine is reducing or Compact prevents turns from
// starting.
func (s *Session) reduce(
	ctx context.Context, t *turn, step *Step, b budget, instructions string,
) error {
	more, skip, err := s.beforeCompact(ctx, t, b, instructions)
	if skip || err != nil {
		return err
	}
	instructions = more
	ladder, err := history.Ladder(step.Context.Reducers...)
	if err != nil {
		s.Notice("warning", err.Error())
		ladder, _ = history.Ladder()
	}
	s.mu.Lock()
	msgs, meter := slices.Clip(s.conv.view.msgs), s.conv.view.meter
	unsummed, pinned := s.compaction.unsummed, maps.Clone(s.conv.pins.changed)
	s.mu.Unlock()
	in := history.Input{
		Messages: msgs, Instructions: instructions, Spill: s.opts.Spill, NewID: s.opts.NewID,
		Now: time.Now(), Recent: step.Context.Recent,
		Target: perRatio(b.target-meter.Overhead(), meter),
		Limit:  perRatio(b.limit-meter.Overhead(), meter),
		Pins:   pinned,
	}
	if in.Limit <= 0 && b.learned {
		in.Limit = 1 // reduce as far as possible
	}
	if in.Limit <= 0 {
		return tooLargeAlone(meter.Overhead(), b.window)
	}
	floor := in.Limit / 8
	if t == nil { // Compact always summarizes all but the latest messages
		floor = min(floor, history.Total(msgs)/4)
		in.Recent = max(1, max(in.Target, floor)/recentShare)
		ladder = summaryFirst(ladder)
	}
	in.Target = max(in.Target, floor, 1)
	in.Lookup = s.lookupNote(step)
	if unsummed < MaxFruitless {
		in.Summarize = s.summarizer(t, step)
	}
	res, err := history.Fit(ctx, in, ladder)
	for _, p := range res.Problems {
		s.Notice("warning", p.Error())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ev, ok := s.commitReduction(t, res, meter.Used()); ok {
		s.afterCompact(ctx, ev)
	}
	if oe := (*history.OverflowError)(nil); errors.As(err, &oe) {
		if b.learned {
			return s.journal.flush()
		}
		return overflow(oe.Error())
	}
	return cmp.Or(s.journal.flush(), err)
}

func summaryFirst(ladder []history.Reducer) []history.Reducer {
	i := slices.IndexFunc(ladder, func(r history.Reducer) bool {
		return r.Name() == history.Summary
	})
	if i < 0 {
		return ladder
	}
	return slices.Concat(ladder[i:i+1], ladder[:i], ladder[i+1:])
}

func perRatio(tokens int, m history.Meter) int { return int(float64(tokens) / m.Ratio()) }

// lookupNote returns the note that explains to the model how to look up what a reduction omits, or
// "".
func (s *Session) lookupNote(step *Step) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := step.Tools.Lookup(recallName); {
	case e == nil:
		return ""
	case e.Spec.Deferred && !s.conv.active[recallName]:
		return recallNote + recallLoad
	}
	return recallNote
}

// commitReduction commits a reduction as the new beginning of the view if it saved enough tokens.
func (s *Session) commitReduction(t *turn, res history.Result, before int) (ev Compacted, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if float64(res.Before-res.After) < minProgress*float64(res.Before) ||
		len(s.conv.messages) == 0 {
		s.compaction.fruitless++
		return ev, false
	}
	s.compaction.fruitless, s.compaction.strategy = 0, res.Strategy
	s.compaction.commits++
	n := len(s.conv.view.msgs)
	s.replaceViewLocked(s.withPinnedLocked(res.Messages), res.Strategy)
	ev = Compacted{
		Strategy: res.Strategy, TokensBefore: before, TokensAfter: s.conv.view.meter.Used(),
		MessagesBefore: n, MessagesAfter: len(s.conv.view.msgs),
	}
	if t != nil {
		ev.TurnID = t.id
	}
	s.em.emit(ev)
	s.changedLocked()
	return ev, true
}

// replaceViewLocked commits new messages as the model's view of the history so far.
func (s *Session) replaceViewLocked(msgs []*message.Message, strategy string) {
	last := s.conv.messages[len(s.conv.messages)-1]
	c := &Commit{Through: last.ID, Replacement: msgs, Strategy: strategy}
	s.journal.add(Record{Type: RecordCompaction, Commit: s.referring(c), Sync: true})
	s.conv.view.msgs, s.conv.view.paired = slices.Clone(msgs), 0
	s.conv.view.meter.Reset(s.conv.view.msgs)
}

// referring returns a copy of c in which messages that are in the log have only their IDs.
func (s *Session) referring(c *Commit) *Commit {
	logged := make(map[*message.Message]bool, len(c.Replacement))
	for _, m := range c.Replacement {
		logged[m] = false
	}
	for _, m := range s.conv.messages {
		if _, ok := logged[m]; ok {
			logged[m] = true
		}
	}
	out := &Commit{
		Through: c.Through, Strategy: c.Strategy, Replacement: slices.Clone(c.Replacement),
	}
	for i, m := range out.Replacement {
		if logged[m] {
			out.Replacement[i] = &message.Message{ID: m.ID}
		}
	}
	return out
}

// summarizer returns a function that asks the model for a summary. These model calls are not
// counted as calls of the turn.
func (s *Session) summarizer(t *turn, step *Step) history.Summarizer {
	return func(ctx context.Context, r history.SummaryRequest) (string, error) {
		text, err := s.askSummary(ctx, t, step, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.compaction.unsummed++
		} else {
			s.compaction.unsummed = 0
		}
		return text, err
	}
}

func (s *Session) askSummary(
	ctx context.Context, t *turn, step *Step, r history.SummaryRequest,
) (string, error) {
	req := &Request{System: []SystemBlock{{Text: r.System}}, Sampling: step.Sampling,
		Messages: []*message.Message{message.NewText(message.RoleUser, r.Prompt)}}
	req.Sampling.MaxTokens = r.MaxTokens
	policy := step.retryPolicy()
	model := step.Models[0]
	if step.Context.Summary != nil {
		model = step.Context.Summary
	}
	for attempt := 1; ; attempt++ {
		reply, err := s.generate(ctx, model, req, func(Delta) {})
		if err == nil {
			s.spend(t, reply.Message)
			if reply.Message.Stop == message.StopLength {
				return "", errors.New("the summary was cut off")
			}
			return message.ValidUTF8(reply.Message.TextContent()), nil
		}
		if e := retry.As(err); e != nil && e.Kind == retry.ContextOverflow {
			return "", history.ErrTooLong
		}
		delay, again := policy.Next(attempt, err)
		if !again || ctx.Err() != nil {
			return "", err
		}
		if err := pause.For(ctx, delay); err != nil {
			return "", err
		}
	}
}

// spend adds the usage of a model call that does not count as a call of the turn, such as the call
// for a summary, to the session and the turn.
func (s *Session) spend(t *turn, m *message.Message) {
	if m.Usage == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t != nil {
		t.sum.Usage = t.sum.Usage.Add(*m.Usage)
	}
	s.usage = s.usage.Add(*m.Usage)
}

// countedLocked passes the provider's token counts for the reply m to the meter.
func (s *Session) countedLocked(m *message.Message) {
	estimate := 0
	if n := len(s.conv.view.msgs); n > 0 && s.conv.view.msgs[n-1] == m {
		estimate = history.Tokens(m)
	}
	s.conv.view.meter.Counted(m.Usage.Input, m.Usage.Output, estimate)
}

// Compaction is the result of Compact.
type Compaction struct {
	TokensBefore, TokensAfter int
	Strategy                  string
}

// Compact reduces the context now, with a model's summary if the strategy includes one.
// instructions are the user's instructions for the summary. No turn may be running. Prompts that
// arrive in the meantime are queued and start when Compact is done.
func (s *Session) Compact(ctx context.Context, instructions string) (Compaction, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	if _, err := s.onLocked(runCompact); err != nil {
		s.mu.Unlock()
		return Compaction{}, err
	}
	s.compaction.cancel = cancel
	s.compaction.unsummed = 0 // the user asked for a reduction, so try summaries again
	s.changedLocked()
	before := s.conv.view.meter.Used()
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	c := Compaction{TokensBefore: before, Strategy: history.StrategyNone}
	err := panics.Catch(func() error { return s.compact(ctx, instructions, &c) })
	s.mu.Lock()
	s.mustLocked(runCompacted)
	s.compaction.cancel = nil
	c.TokensAfter = s.conv.view.meter.Used()
	waits := (len(s.inbox.queue) > 0 || hasWake(s.inbox.notes)) && err == nil
	switch {
	case waits && s.state == runIdle:
		s.launchLocked(s.takeLocked(&s.inbox.queue, QueueOneAtATime)...)
	case s.resumedLocked() && ctx.Err() == nil:
		s.goOnLocked()
	default:
		if waits && s.state == runPaused {
			s.holdBackLocked()
		}
		s.changedLocked()
	}
	s.mu.Unlock()
	return c, errors.Join(err, s.journal.sync())
}

func (s *Session) compact(ctx context.Context, instructions string, c *Compaction) error {
	step, err := s.askEnvironment(ctx, TurnInfo{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	b := s.conv.view.budget(step.Context, step.Models[0])
	s.conv.view.window = b.window
	s.conv.view.meter.SetOverhead(step.overhead(s.conv.active))
	used, commits := s.conv.view.meter.Used(), s.compaction.commits
	s.mu.Unlock()
	b.target = used / 4
	b.limit = max(b.limit, used)
	if err := s.reduce(ctx, nil, step, b, instructions); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.compaction.commits > commits {
		c.Strategy = s.compaction.strategy
	}
	return nil
}
