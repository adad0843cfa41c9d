package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
	"github.com/agent-lsp/agent-lsp/internal/panics"
)

// showNotices shows the notices of a reply. Lasting ones are shown once per session.
func (s *Session) showNotices(reply *Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range reply.Notices {
		if slices.Contains(reply.Lasting, n) {
			if s.notified[n] {
				continue
			}
			if s.notified == nil {
				s.notified = map[string]bool{}
			}
			s.notified[n] = true
		}
		s.noticeLocked("warning", n)
	}
}

// noteUnpriced adds the notice that a cost limit has no effect because the price is unknown.
func (t *turn) noteUnpriced(reply *Reply) {
	u := reply.Message.Usage
	if t.step.Limits.Cost <= 0 || u == nil || u.Total == 0 || u.Cost > 0 {
		return
	}
	text := "The price of " + reply.Message.Model +
		" is not known, so budget.cost does not limit " +
		"the cost; add the model to prices"
	reply.Notices, reply.Lasting = append(reply.Notices, text), append(reply.Lasting, text)
}

// settle adds a reply to the history, runs its tools, and reports whether the turn has ended.
func (s *Session) settle(t *turn, reply *Reply, st *stream) (outcome, bool) {
	m := s.adopt(t, reply, st)
	t.noteUnpriced(reply)
	s.showNotices(reply)
	if len(m.ToolCalls()) > 0 {
		if err := s.commitReply(t, m, st, true); err != nil {
			return s.failed(t, err), true
		}
		s.runTools(t, m, st)
		t.resetCounts()
		if t.ends && t.ctx.Err() == nil {
			t.ends = false
			return s.askToStop(t, m)
		}
		return outcome{}, false
	}
	v := s.decide(t, m)
	if !v.drop {
		if err := s.commitReply(t, m, st, false); err != nil {
			return s.failed(t, err), true
		}
	} else {
		s.account(t, m)
		st.close(StatusRetracted)
	}
	if v.nudge != "" {
		t.replies.nudge = nudgeMessage(t, v.nudge)
		return outcome{}, false
	}
	if v.end.reason == EndStop {
		return s.askToStop(t, m)
	}
	return v.end, true
}

func (t *turn) resetCounts() {
	t.replies.budget.Reset()
	t.replies.rephrased = 0
	t.replies.afterTools = true
}

// adopt makes the reply's message valid for the history, with unique IDs, objects as arguments, and
// valid text.
func (s *Session) adopt(t *turn, reply *Reply, st *stream) *message.Message {
	m := s.repairReply(t, reply)
	m.ID, m.App, m.Source, m.Hidden = st.messageID, "", "", false
	s.stampAssistant(t, m)
	sanitize(m)
	m.Content = slices.DeleteFunc(m.Content, func(b message.Block) bool {
		return b.Type == message.ToolUse &&
			(b.Call == nil || m.Stop == message.StopLength && b.Call.Problem != "")
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range m.ToolCalls() {
		s.adoptCallLocked(c)
	}
	return m
}

// repairReply repairs the reply with package repair.
func (s *Session) repairReply(t *turn, reply *Reply) *message.Message {
	o := t.step.Repair
	o.NewID = func() string { return s.opts.NewID("call_") }
	o.Taken = func(id string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.conv.callIDs[id]
	}
	m := reply.Message
	err := panics.Catch(func() error {
		m, _ = repair.Normalize(reply.Message, t.step.Tools.Names(), o)
		return nil
	})
	if err != nil {
		s.bug("repairing a reply: %v", err)
	}
	return m
}

// adoptCallLocked gives a call an ID that no other call of the session has.
func (s *Session) adoptCallLocked(c *message.ToolCall) {
	c.ID, c.Name = message.ValidUTF8(c.ID), message.ValidUTF8(c.Name)
	if strings.TrimSpace(c.Name) == "" {
		c.Name = toolcall.Unnamed
	}
	if c.ID == "" || s.conv.callIDs[c.ID] {
		c.ID = s.opts.NewID("call_")
	}
	s.conv.callIDs[c.ID] = true
	if trimmed := bytes.TrimSpace(c.Args); len(trimmed) == 0 {
		c.Args = json.RawMessage("{}")
	} else if trimmed[0] != '{' || !json.Valid(trimmed) {
		if c.Problem == "" {
			c.Raw, c.Problem = string(trimmed), "the arguments are not a JSON object"
		}
		c.Args = json.RawMessage("{}")
	}
	c.Raw, c.Problem = message.ValidUTF8(c.Raw), message.ValidUTF8(c.Problem)
}

// commitReply adds m to the history and completes its items. It returns when m is stored, so that
// no tool starts before that.
func (s *Session) commitReply(t *turn, m *message.Message, st *stream, calls bool) error {
	s.mu.Lock()
	s.commitLocked(m, t.mustLast(m))
	s.mu.Unlock()
	err := s.journal.flush()
	st.commit(m)
	if !calls || err != nil {
		st.release()
	}
	s.account(t, m)
	t.replies.previous, t.replies.afterTools = m, false
	return err
}

// mustLast reports whether a reply must be synced to disk before its calls run, because one of them
// may have an effect. recordStart waits for the sync.
func (t *turn) mustLast(m *message.Message) bool {
	for _, c := range m.ToolCalls() {
		if reg := t.step.Tools.Lookup(c.Name); reg != nil && reg.Spec.Effect != tool.ReadOnly {
			return true
		}
	}
	return false
}

// account adds the usage of a reply to the totals, even if the reply is dropped.
func (s *Session) account(t *turn, m *message.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Usage != nil {
		t.sum.Usage = t.sum.Usage.Add(*m.Usage)
		s.usage = s.usage.Add(*m.Usage)
		s.countedLocked(m)
	}
	s.changedLocked()
}

// decision determines what happens to a reply without calls.
type decision struct {
	end   outcome
	nudge string // ask again with this message
	drop  bool   // the reply is not stored
}

func (s *Session) decide(t *turn, m *message.Message) decision {
	blank := strings.TrimSpace(m.TextContent()) == ""
	switch {
	case m.Stop == message.StopContentFilter:
		return t.decideFiltered()
	case m.Stop == message.StopLength, m.Stop == message.StopUnknown && !blank:
		return t.decideCut(m, blank)
	}
	return s.validate(t, m, blank)
}

func (t *turn) decideFiltered() decision {
	if t.replies.rephrased++; t.replies.rephrased <= MaxRephrase {
		return decision{nudge: repair.NudgeFilter, drop: true}
	}
	out := failure(
		retry.ContentFilter,
		"the provider's content filter stopped the reply, even after a request to rephrase",
		false,
	)
	out.reason = EndContentFilter
	return decision{end: out, drop: true}
}

// decideCut asks the model to continue a reply that was cut off. If no continuation is left, it
// ends the turn. In that case, a reply without a finish reason is accepted as complete.
func (t *turn) decideCut(m *message.Message, blank bool) decision {
	if t.replies.budget.Continue() {
		return decision{nudge: repair.NudgeLength, drop: blank}
	}
	end := EndLength
	if m.Stop == message.StopUnknown {
		end = EndStop
	}
	return decision{end: outcome{reason: end}, drop: blank}
}

// validate checks a reply with package repair.
func (s *Session) validate(t *turn, m *message.Message, blank bool) decision {
	a := repair.Answer{Message: m, AfterTools: t.replies.afterTools}
	if t.replies.previous != nil {
		a.Previous = t.replies.previous.TextContent()
	}
	var verdict repair.Verdict
	var nudge string
	err := panics.Catch(
		func() error {
			verdict, nudge = repair.Validate(a, &t.replies.budget,
				t.step.Repair)
			return nil
		},
	)
	if err != nil {
		s.bug("judging a reply: %v", err)
	}
	switch {
	case verdict == repair.Accept:
		return decision{end: outcome{reason: EndStop}, drop: len(m.Content) == 0}
	case nudge == "":
		return decision{
			end:  failure(retry.Blank, "the model returned several blank replies in a row", true),
			drop: true,
		}
	}
	return decision{nudge: nudge, drop: blank}
}

func nudgeMessage(t *turn, text string) *message.Message {
	m := message.NewText(message.RoleUser, text)
	m.Source, m.Hidden, m.TurnID, m.Author = message.SourceNudge, true, t.id, "engine"
	return m
}

// askToStop lets the hooks veto the end of the turn.
func (s *Session) askToStop(t *turn, m *message.Message) (outcome, bool) {
	s.mu.Lock()
	sum := t.sum
	s.mu.Unlock()
	for h := range hooksOf[FinalHook](s) {
		var veto string
		err := s.guard(t.ctx, h.Hook, func(ctx context.Context) (err error) {
			veto, err = h.As.BeforeStop(ctx, sum, m.TextContent())
			return err
		})
		if err != nil { // an abandoned hook may still write to veto
			s.tolerate(t, err)
			continue
		}
		if veto == "" {
			continue
		}
		if t.replies.vetoes++; t.replies.vetoes > MaxVetoes {
			s.Notice(
				"warning",
				fmt.Sprintf(
					"hook %s vetoed the end of the turn %d times; the turn ends anyway",
					h.HookName(),
					MaxVetoes,
				),
			)
			break
		}
		n := nudgeMessage(t, veto)
		s.mu.Lock()
		s.commitUserLocked(n)
		s.mu.Unlock()
		return outcome{}, false
	}
	return outcome{reason: EndStop}, true
}

func failure(kind retry.Kind, text string, retryable bool) outcome {
	return outcome{
		reason: EndError,
		err:    &TurnError{Kind: string(kind), Message: text, Retryable: retryable},
	}
}

// failed converts an error to an outcome. A turn whose context ended was aborted.
func (s *Session) failed(t *turn, err error) outcome {
	if t.ctx.Err() != nil {
		return outcome{reason: EndAborted}
	}
	if e := retry.As(err); e != nil {
		out := failure(e.Kind, e.Error(), retry.Retryable(e.Kind))
		if e.Kind == retry.ContentFilter {
			out.reason = EndContentFilter
		}
		return out
	}
	return failure(retry.Client, err.Error(), false)
}
