package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// SessionInfo describes the session for which a hook is called.
type SessionInfo struct {
	ID       string
	Cwd      string
	Parent   string // for a sub-agent's session, the session whose tool call created it
	Restored bool   // the session was loaded from the store
}

// Hooks for the lifecycle of a session; see Hook.
type (
	// SessionHook is called when the first turn of a session begins after the session was created
	// or loaded. The returned text is sent to the model but not shown to the user. SessionHook
	// cannot veto.
	SessionHook interface {
		SessionStarts(ctx context.Context, in SessionInfo) (tell string, err error)
	}
	// SessionEndHook is called when a session in which a turn has run is closed. All of these hooks
	// together have the time limit sessionEndTime.
	SessionEndHook interface {
		SessionEnds(ctx context.Context, in SessionInfo) error
	}
	// PromptHook is called with each message from the user before the model sees it. The returned
	// text is sent to the model with the message. An error permanently withholds the message from
	// the model and ends the turn.
	PromptHook interface {
		BeforePrompt(
			ctx context.Context,
			turnID string,
			m *message.Message,
		) (tell string, err error)
	}
	// CompactHook is called before the context is reduced. It may return instructions for the
	// summary. An error prevents the reduction if the user requested it, or if the context fits
	// without it.
	CompactHook interface {
		BeforeCompact(ctx context.Context, c CompactInfo) (instructions string, err error)
	}
	// CompactEndHook receives the result of a reduction.
	CompactEndHook interface {
		AfterCompact(ctx context.Context, c Compacted) error
	}
)

// CompactInfo describes a reduction that is about to happen.
type CompactInfo struct {
	TurnID string // "" if the user requested the reduction
	Tokens int
	Window int  // 0: unknown
	Must   bool // without the reduction, the next call would not fit
}

// sessionEndTime is the total time limit for all hooks at the end of a session, so that a daemon
// can exit quickly.
const sessionEndTime = time.Second

type sessionKey struct{}

// SessionOf returns the session for which a hook is called.
func SessionOf(ctx context.Context) SessionInfo {
	in, _ := ctx.Value(sessionKey{}).(SessionInfo)
	return in
}

func (s *Session) info() SessionInfo {
	return SessionInfo{
		ID:       s.opts.ID,
		Cwd:      s.opts.Cwd,
		Parent:   s.opts.Parent,
		Restored: s.hooks.restored,
	}
}

// sessionStarts calls the hooks for the start of the session. It does so only once.
func (s *Session) sessionStarts(t *turn) {
	s.mu.Lock()
	first := !s.hooks.started
	s.hooks.started = true
	s.mu.Unlock()
	if !first {
		return
	}
	for h := range hooksOf[SessionHook](s) {
		tell, err := ask(
			s,
			t.ctx,
			h.Hook,
			func(ctx context.Context) (string, error) { return h.As.SessionStarts(ctx, s.info()) },
		)
		s.tolerate(t, err)
		s.tell(t, tell)
	}
}

// ask is like guard, for a hook that returns a value. If the hook is abandoned, its value is
// discarded.
func ask[T any](
	s *Session,
	ctx context.Context,
	h Hook,
	f func(ctx context.Context) (T, error),
) (T, error) {
	answer := make(chan T, 1)
	err := s.guard(ctx, h, func(ctx context.Context) error {
		a, err := f(ctx)
		answer <- a
		return err
	})
	var none T
	if err != nil {
		return none, err
	}
	return <-answer, nil
}

// tell adds a hook's text to the messages for the model. The user does not see it.
func (s *Session) tell(t *turn, text string) {
	if text == "" {
		return
	}
	m := nudgeMessage(t, message.ValidUTF8(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commitUserLocked(m)
}

// sessionEnds calls the hooks for the end of the session if the hooks for its start were called.
func (s *Session) sessionEnds(ctx context.Context) {
	s.mu.Lock()
	due := s.hooks.started
	s.hooks.started = false
	s.mu.Unlock()
	hooks := slices.Collect(hooksOf[SessionEndHook](s))
	if !due || len(hooks) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sessionEndTime)
	defer cancel()
	for _, h := range hooks {
		if err := s.guard(ctx, h.Hook,
			func(ctx context.Context) error {
				return h.As.SessionEnds(ctx,
					s.info())
			}); err != nil {
			s.Notice("warning", err.Error())
		}
	}
}

// beforePrompts passes the user's new messages to the hooks.
func (s *Session) beforePrompts(t *turn) error {
	s.mu.Lock()
	fresh := t.fresh
	t.fresh = nil
	s.mu.Unlock()
	for i, m := range fresh {
		err := s.beforePrompt(t, m)
		switch {
		case err == nil:
			continue
		case t.ctx.Err() != nil && (errors.Is(err, context.Cause(t.ctx)) ||
			errors.Is(err, context.Canceled)):
			// An abort is not a refusal. The hooks receive the message again in the next turn.
			s.unseen(t, fresh[i:])
		default:
			s.withhold(m)
			s.unseen(t, fresh[i+1:])
		}
		return err
	}
	return nil
}

func (s *Session) beforePrompt(t *turn, m *message.Message) error {
	for h := range hooksOf[PromptHook](s) {
		tell, err := ask(
			s,
			t.ctx,
			h.Hook,
			func(ctx context.Context) (string,
				error) {
				return h.As.BeforePrompt(ctx, t.id, m.Clone())
			},
		)
		if err != nil {
			return err
		}
		s.tell(t, tell)
	}
	return nil
}

// unseen puts messages back into the list of messages that the hooks have not received.
func (s *Session) unseen(t *turn, msgs []*message.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fresh = slices.Concat(msgs, t.fresh)
}

// withheld is the strategy of the commit that withholds a message from the model.
const withheld = "withheld"

// withhold permanently removes a stored message from the model's view.
func (s *Session) withhold(m *message.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.conv.view.msgs, m)
	if i < 0 {
		return
	}
	s.replaceViewLocked(slices.Delete(slices.Clone(s.conv.view.msgs), i, i+1), withheld)
	s.withholdPinLocked(m)
}

// beforeCompact calls the hooks before a reduction. They may add instructions or prevent it.
func (s *Session) beforeCompact(
	ctx context.Context,
	t *turn,
	b budget,
	instructions string,
) (more string, skip bool, err error) {
	hooks := slices.Collect(hooksOf[CompactHook](s))
	if len(hooks) == 0 {
		return instructions, false, nil
	}
	s.mu.Lock()
	c := CompactInfo{Tokens: s.conv.view.meter.Used(), Window: b.window}
	s.mu.Unlock()
	c.Must = c.Tokens > b.limit
	if t != nil {
		c.TurnID = t.id
	}
	for _, h := range hooks {
		text, err := ask(
			s,
			ctx,
			h.Hook,
			func(ctx context.Context) (string, error) { return h.As.BeforeCompact(ctx, c) },
		)
		switch {
		case err != nil && t == nil:
			return "", true, err
		case err != nil && !c.Must:
			s.Notice("warning", err.Error())
			s.mu.Lock()
			s.compaction.fruitless++
			s.mu.Unlock()
			return "", true, nil
		case err != nil:
			s.Notice("warning", err.Error()+"; without it the context does not fit")
		case text != "":
			instructions = joinLines(instructions, text)
		}
	}
	return instructions, false, nil
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func (s *Session) afterCompact(ctx context.Context, c Compacted) {
	for h := range hooksOf[CompactEndHook](s) {
		if err := s.guard(ctx, h.Hook,
			func(ctx context.Context) error { return h.As.AfterCompact(ctx, c) }); err != nil &&
			ctx.Err() == nil {
			s.Notice("warning", err.Error())
		}
	}
}
