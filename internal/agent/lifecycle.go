package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// SessionInfo is what a hook may know of the session that it is called for.
type SessionInfo struct {
	ID       string
	Cwd      string
	Parent   string // the session whose tool call this one works for: it is a sub-agent's
	Restored bool   // it was stored before
}

// The hooks of a session's life; see Hook.
type (
	// SessionHook sees a session's first turn since it was made or loaded begin. What it
	// returns is told the model, not the user. It cannot veto.
	SessionHook interface {
		SessionStarts(ctx context.Context, in SessionInfo) (tell string, err error)
	}
	// SessionEndHook sees a session close that had a turn; it has sessionEndTime.
	SessionEndHook interface {
		SessionEnds(ctx context.Context, in SessionInfo) error
	}
	// PromptHook sees each message of a person's, before the model does. What it returns is told
	// the model beside it; an error keeps the message from the model for good and ends the turn.
	PromptHook interface {
		BeforePrompt(
			ctx context.Context,
			turnID string,
			m *message.Message,
		) (tell string, err error)
	}
	// CompactHook sees that the context is about to be reduced and may say what a summary should
	// keep. An error keeps the reduction from happening where the context still fits without.
	CompactHook interface {
		BeforeCompact(ctx context.Context, c CompactInfo) (instructions string, err error)
	}
	// CompactEndHook sees what a reduction did.
	CompactEndHook interface {
		AfterCompact(ctx context.Context, c Compacted) error
	}
)

// CompactInfo is a reduction that is about to happen.
type CompactInfo struct {
	TurnID string // "": the user asked for it
	Tokens int
	Window int  // 0: unknown
	Must   bool // the next call would not fit without
}

// sessionEndTime bounds all hooks at a session's end: a daemon that ends must end soon.
const sessionEndTime = time.Second

type sessionKey struct{}

// SessionOf says for which session a hook is called.
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

// sessionStarts asks the hooks of the session's start, once.
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

// ask is guard for a hook that answers. What an abandoned hook answers later is nobody's.
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

// tell gives the model a message of a hook's, which the user is not shown.
func (s *Session) tell(t *turn, text string) {
	if text == "" {
		return
	}
	m := nudgeMessage(t, message.ValidUTF8(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commitUserLocked(m)
}

// sessionEnds asks the hooks of the session's end, if those of its start were.
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

// beforePrompts shows the hooks what people said since they last looked.
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
			s.unseen(t, fresh[i:]) // an abort is no refusal: the next turn's hooks look at it
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

// unseen gives back what the hooks have not looked at.
func (s *Session) unseen(t *turn, msgs []*message.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fresh = slices.Concat(msgs, t.fresh)
}

// withheld is the strategy of the commit that keeps a message from the model.
const withheld = "withheld"

// withhold keeps a stored message out of what the model sees, for good.
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

// beforeCompact asks the hooks before a reduction: for more instructions, or not to do it.
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
			s.Notice("warning", err.Error()+"; the context does not fit without")
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
