package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/panics"
	"github.com/agent-lsp/agent-lsp/internal/pause"
)

// infer makes one model call. It builds the request, tries the models in order with retries, and
// returns the reply and the stream that showed the reply as items. No tool runs during the call.
func (s *Session) infer(t *turn) (*Reply, *stream, error) {
	t.phase = PhaseInference
	oneShots := s.takeOneShots()
	reply, st, err := s.inferWith(t, oneShots)
	if err != nil {
		s.putBack(oneShots)
		return nil, nil, err
	}
	t.replies.nudge = nil
	return reply, st, nil
}

func (s *Session) inferWith(t *turn, oneShots []*message.Message) (*Reply, *stream, error) {
	if err := s.fit(t); err != nil {
		return nil, nil, err
	}
	req, err := s.request(t, oneShots)
	if err != nil {
		return nil, nil, err
	}
	t.sum.ModelCalls++
	reply, st, err := s.callModels(t, req)
	if e := retry.As(err); e != nil && e.Kind == retry.ContextOverflow {
		reply, st, err = s.callReduced(t, oneShots, e)
	}
	if err != nil {
		return nil, nil, err
	}
	for h := range hooksOf[ModelEndHook](s) {
		seen := &Reply{Message: reply.Message.Clone(), Finish: reply.Finish, Notices: reply.Notices}
		s.tolerate(
			t,
			s.guard(
				t.ctx,
				h.Hook,
				func(ctx context.Context) error { return h.As.AfterModel(ctx, req, seen) },
			),
		)
	}
	return reply, st, nil
}

// callReduced handles a provider's refusal of a context that is too long. It reduces the history
// and calls the model again, at most MaxRefusals times, until the provider accepts the context or
// the history cannot be reduced further.
func (s *Session) callReduced(
	t *turn,
	oneShots []*message.Message,
	refused *retry.Error,
) (*Reply, *stream, error) {
	for n := 1; ; n++ {
		if err := s.fitForced(t, refused, n); err != nil {
			return nil, nil, err
		}
		req, err := s.request(t, oneShots)
		if err != nil {
			return nil, nil, err
		}
		reply, st, err := s.callModels(t, req)
		if refused = retry.As(err); refused == nil || refused.Kind != retry.ContextOverflow ||
			n == MaxRefusals {
			return reply, st, err
		}
	}
}

// tolerate shows the user the error of a hook that cannot veto.
func (s *Session) tolerate(t *turn, err error) {
	if err != nil && t.ctx.Err() == nil {
		s.Notice("warning", err.Error())
	}
}

func (s *Session) takeOneShots() []*message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.conv.oneShots
	s.conv.oneShots = nil
	return taken
}

// putBack queues one-shot steers again after a failed call, so that they are sent with the next
// one.
func (s *Session) putBack(oneShots []*message.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conv.oneShots = append(oneShots, s.conv.oneShots...)
}

// oneShotPromptLocked reports whether the user's one-shot steer starts the turn. The model answers
// the steer, so it needs no request to continue its last reply.
func (s *Session) oneShotPromptLocked() bool {
	return slices.ContainsFunc(s.conv.oneShots, func(m *message.Message) bool {
		return m.Role == message.RoleUser
	})
}

// request builds the request from the model's view of the history and the messages that are sent
// only with this call.
func (s *Session) request(t *turn, oneShots []*message.Message) (*Request, error) {
	s.mu.Lock()
	msgs, repaired := s.conv.view.sendable()
	tools := toolSpecs(t.step.Tools.Active(s.conv.active))
	s.mu.Unlock()
	if repaired {
		s.bug("session %s: the history was not paired before a model call", s.opts.ID)
	}
	msgs = slices.Clip(forTheModel(msgs))
	step := t.step
	req := &Request{
		System: step.System, Messages: msgs, Tools: tools, ToolChoice: step.ToolChoice,
		Sampling: step.Sampling, Thinking: step.Thinking, CacheKey: step.CacheKey,
		Knows: func(name string) bool { return step.Tools.Lookup(name) != nil },
	}
	for _, m := range oneShots {
		if m.Role == message.RoleSystem {
			req.System = append(slices.Clip(req.System), SystemBlock{Text: m.TextContent()})
		} else {
			req.Messages = append(slices.Clip(req.Messages), m)
		}
	}
	if t.replies.nudge != nil {
		req.Messages = append(slices.Clip(req.Messages), t.replies.nudge)
	}
	return s.rewritten(t, req)
}

// rewritten returns the request after the hooks before the model call have changed it.
func (s *Session) rewritten(t *turn, req *Request) (*Request, error) {
	hooks := slices.Collect(hooksOf[ModelHook](s))
	if len(hooks) == 0 {
		return req, nil
	}
	req.System, req.Messages, req.Tools = slices.Clone(
		req.System,
	), slices.Clone(
		req.Messages,
	), slices.Clone(
		req.Tools,
	)
	for _, h := range hooks {
		if err := s.guard(t.ctx, h.Hook,
			func(ctx context.Context) error { return h.As.BeforeModel(ctx, req) }); err != nil {
			return nil, err
		}
	}
	req.Messages = history.Pair(req.Messages, nil)
	return req, nil
}

// callModels tries the models in order, each with its retries.
func (s *Session) callModels(t *turn, req *Request) (*Reply, *stream, error) {
	var last error
	for i, m := range t.step.Models {
		if i > 0 {
			s.tellFallback(t, last, m.Info().ID)
		}
		reply, st, err := s.callModel(t, m, req)
		if err == nil {
			return reply, st, nil
		}
		last = err
		e := retry.As(err)
		if e == nil || !retry.FallbackEligible(e.Kind) && !errors.Is(e, retry.ErrSkipped) ||
			t.ctx.Err() != nil {
			break
		}
	}
	return nil, nil, last
}

// tellFallback explains to the user why a fallback model answers. It reports a skipped provider
// once per turn.
func (s *Session) tellFallback(t *turn, why error, to string) {
	text := fmt.Sprintf("%v; trying %s", why, to)
	if errors.Is(why, retry.ErrSkipped) {
		if slices.Contains(t.replies.skips, text) {
			return
		}
		t.replies.skips = append(t.replies.skips, text)
	}
	s.Notice("warning", text)
}

// callModel makes attempts until one succeeds or the retry policy allows no more.
func (s *Session) callModel(t *turn, m Model, req *Request) (*Reply, *stream, error) {
	policy := t.step.retryPolicy()
	for attempt := 1; ; attempt++ {
		st := newStream(s, t)
		reply, err := s.attempt(t, m, req, st)
		if err == nil {
			return reply, st, nil
		}
		if t.ctx.Err() != nil {
			t.replies.partial = st.close(StatusAborted)
			return nil, nil, context.Cause(t.ctx)
		}
		if errors.Is(err, retry.ErrReplyTooLong) {
			t.replies.partial = st.close(StatusAborted)
			return nil, nil, err
		}
		st.close(StatusRetracted)
		delay, again := policy.Next(attempt, err)
		if !again {
			return nil, nil, err
		}
		e := retry.As(err)
		s.em.emit(
			Retrying{
				TurnID:     t.id,
				Attempt:    attempt,
				MaxRetries: policy.MaxRetries,
				Delay:      delay,
				Kind:       string(e.Kind),
				Message:    e.Message,
			},
		)
		if err := pause.For(t.ctx, delay); err != nil {
			return nil, nil, err
		}
	}
}

// attempt makes one call and converts its deltas to items. It waits until the prompt is synced to
// disk before it shows the first output. If the sync fails, it shows the output anyway. The wait is
// rarely noticeable, because the sync began before the model was called.
func (s *Session) attempt(t *turn, m Model, req *Request, st *stream) (*Reply, error) {
	waited := false
	return s.generate(t.ctx, m, req, func(d Delta) {
		if !waited {
			waited = true
			_ = s.journal.sync() // an error is reported to the client that sent the prompt
			defer t.started()    // called when the first output arrives
		}
		st.on(d)
	})
}

// generate makes one call. If the model does not return after its context has ended, it is
// abandoned.
func (s *Session) generate(
	ctx context.Context,
	m Model,
	req *Request,
	on func(Delta),
) (*Reply, error) {
	type answer struct {
		reply *Reply
		err   error
	}
	done := make(chan answer, 1)
	s.wg.Go(func() {
		var a answer
		err := panics.Catch(func() error {
			a.reply, a.err = m.Generate(ctx, req, on)
			return nil
		})
		if err != nil {
			a = answer{err: fmt.Errorf("calling the model: %w", err)}
		}
		done <- a
	})
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		grace := time.NewTimer(modelGrace)
		defer grace.Stop()
		select {
		case a = <-done:
		case <-grace.C:
			return nil, context.Cause(ctx)
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case a.err == nil && (a.reply == nil || a.reply.Message == nil):
		return nil, &retry.Error{
			Kind:    retry.Client,
			Message: "the model returned neither a reply nor an error",
		}
	}
	return a.reply, a.err
}
