package acp

import (
	"context"
	"errors"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// prompting is a session/prompt request that has not been answered yet.
type prompting struct {
	cancelled chan struct{} // closed when session/cancel arrives
	request   *inbound      // the client's request
	done      bool          // whether cancelled is closed; guarded by session.mu
	turnID    string        // the turn that the prompt started, once known; guarded by session.mu
	// answered is set if ended has sent the response or the handler is about to send it. session.mu
	// guards it.
	answered bool
}

// prompt stays open until its turn has ended. It registers before the next message is read, so that
// a session/cancel that follows immediately finds it.
func (a *adapter) prompt(ctx context.Context, params []byte, free func()) (any, error) {
	var p acp.PromptRequest
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	s, err := a.session(string(p.SessionId))
	if err != nil {
		return nil, err
	}
	turn, err := s.claim(ctx)
	if err != nil {
		return nil, err
	}
	free()
	defer s.release(turn)
	blocks, err := content.Prompt(p.Prompt)
	if err != nil {
		return nil, fail(codeInvalidParams, "%v", err)
	}
	defer s.caughtUp() // a client may prompt before it has received all updates from a load
	return s.run(ctx, turn, blocks)
}

func (s *session) claim(ctx context.Context) (*prompting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return nil, fail(codeInvalidRequest,
			"a prompt is still running in this session; cancel it, or steer it with %s",
			methodSteering)
	}
	s.turn = &prompting{request: inboundFrom(ctx), cancelled: make(chan struct{})}
	return s.turn, nil
}

func (s *session) release(turn *prompting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == turn {
		s.turn = nil
	}
}

// cancelSession handles session/cancel. If there is no prompt, it aborts a turn that started
// without one.
func (a *adapter) cancelSession(id string) {
	s, err := a.session(id)
	if err != nil {
		return
	}
	s.cancel()
	s.abort(a.ctx, "")
}

// cancel cancels the running prompt, if there is one.
func (s *session) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.cancelLocked()
	}
}

// cancelPrompt handles $/cancel_request. It cancels this prompt but no later prompt.
func (s *session) cancelPrompt(turn *prompting) {
	s.mu.Lock()
	current, turnID := s.turn == turn, turn.turnID
	turn.cancelLocked()
	s.mu.Unlock()
	if current {
		s.abort(s.a.ctx, turnID)
	}
}

func (p *prompting) cancelLocked() {
	if !p.done {
		p.done = true
		close(p.cancelled)
	}
}

// abort aborts the running work, or only one turn if turnID is set. It does not wait.
func (s *session) abort(ctx context.Context, turnID string) {
	params := wire.AbortParams{SessionID: s.id, TurnID: turnID}
	_, _ = ask(ctx, s.core, agentapi.Turns.Abort, params) // there may be nothing to abort
}

func (p *prompting) wasCancelled() bool {
	select {
	case <-p.cancelled:
		return true
	default:
		return false
	}
}

// run sends the prompt and waits for the turn that the prompt starts.
func (s *session) run(ctx context.Context, turn *prompting, blocks wire.Prompt) (any, error) {
	s.core.prompted(s.id)
	stop := context.AfterFunc(ctx, func() { s.cancelPrompt(turn) })
	defer stop()
	if turn.wasCancelled() {
		return promptResult(acp.StopReasonCancelled, nil), nil
	}
	life := context.WithoutCancel(ctx)
	if instructions, ok := s.asksToCompact(life, blocks); ok {
		return s.compact(life, turn, instructions)
	}
	params := wire.PromptParams{SessionID: s.id, Prompt: blocks}
	began := func(accepted wire.PromptResult) { s.began(turn, accepted) }
	accepted, err := askInOrder(life, s.core, agentapi.Turns.Prompt, params, began)
	if err != nil {
		if turn.wasCancelled() {
			return promptResult(acp.StopReasonCancelled, nil), nil
		}
		return nil, err
	}
	if turn.wasCancelled() {
		s.withdraw(life, accepted)
	}
	ended, err := s.core.wait(life, s.id, accepted.MessageID)
	switch {
	case !s.answers(turn):
		// The next prompt may already be running, so do not spend time on a result that is not
		// written.
		return answeredBefore, nil
	case turn.wasCancelled():
		return promptResult(acp.StopReasonCancelled, &ended), nil
	case err != nil:
		return nil, err
	}
	return s.concluded(turn, &ended)
}

func (s *session) began(turn *prompting, accepted wire.PromptResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if accepted.Disposition != "queued" {
		turn.turnID = accepted.TurnID
	}
}

// ended answers a prompt as soon as the end of its turn has been reported, if no proposal may be
// undecided and there is no error, or if the prompt was canceled. The handler would do the same,
// but may take a moment to wake up.
func (s *session) ended(t *wire.Turn) {
	s.mu.Lock()
	turn, reason := s.turn, stopReason(t.EndReason)
	if turn == nil || turn.answered || turn.request == nil || turn.turnID != t.TurnID ||
		!turn.done && (s.pending || t.Status != "completed") {
		s.mu.Unlock()
		return
	}
	if turn.done {
		reason = acp.StopReasonCancelled
	}
	turn.answered = true
	s.turn = nil
	s.mu.Unlock()
	s.a.requests.answerNow(s.a.out, turn.request, promptResult(reason, t))
}

// answers reports whether the handler must answer because ended has not answered and will not.
func (s *session) answers(turn *prompting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn.answered {
		return false
	}
	turn.answered = true
	return true
}

// withdraw aborts the turn that a canceled prompt started, or removes the prompt from the queue.
func (s *session) withdraw(ctx context.Context, accepted wire.PromptResult) {
	if accepted.Disposition == "queued" {
		params := wire.QueueParams{SessionID: s.id, MessageID: accepted.MessageID}
		// If the message has already started a turn, there is nothing to remove.
		_, _ = askInOrder(ctx, s.core, agentapi.Turns.QueueRemove, params, nil)
	}
	s.abort(ctx, "")
}

// concluded answers a prompt that was not canceled before its turn ended, in any way.
func (s *session) concluded(turn *prompting, ended *wire.Turn) (any, error) {
	if ended.Status == "failed" && ended.Error != nil {
		code := codeInternal
		if ended.Error.Kind == "auth" {
			code = codeAuthRequired
		}
		e := fail(code, "%s", ended.Error.Message)
		e.Data = jsonrpc2.RawMessage(encode(ended.Error))
		return nil, e
	}
	if ended.Status == "aborted" {
		return promptResult(acp.StopReasonCancelled, ended), nil
	}
	if s.mayPend() {
		s.reviewFor(turn)
	}
	if turn.wasCancelled() {
		return promptResult(acp.StopReasonCancelled, ended), nil
	}
	return promptResult(stopReason(ended.EndReason), ended), nil
}

// promptResult returns an encoded PromptResponse. It avoids the library's encoding through maps,
// because this encoding delays the end of every turn.
func promptResult(reason acp.StopReason, turn *wire.Turn) jsonrpc2.RawMessage {
	b := append([]byte(`{"stopReason":"`), reason...)
	b = append(b, '"')
	if turn != nil && turn.TurnID != "" {
		b = append(append(b, `,"_meta":{"agentLsp":{"turn":`...), encodeWire(turn)...)
		b = append(b, `}}`...)
	}
	return jsonrpc2.RawMessage(append(b, '}'))
}

func stopReason(end string) acp.StopReason {
	switch end {
	case "max_model_calls", "budget":
		return acp.StopReasonMaxTurnRequests
	case "length":
		return acp.StopReasonMaxTokens
	case "content_filter":
		return acp.StopReasonRefusal
	}
	return acp.StopReasonEndTurn
}

// steerParams are the params of the extension _session/steering.
type steerParams struct {
	SessionID string             `json:"sessionId"`
	Prompt    []acp.ContentBlock `json:"prompt"`
	// IdleBehavior "promptRequired" means that an error is returned if the session is idle.
	IdleBehavior string `json:"idleBehavior"`
}

// steering steers the running turn. In an idle session, it starts a turn unless the params forbid
// that.
func (a *adapter) steering(ctx context.Context, p *steerParams) (any, error) {
	s, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	blocks, err := content.Prompt(p.Prompt)
	if err != nil {
		return nil, fail(codeInvalidParams, "%v", err)
	}
	params := wire.SteerParams{SessionID: s.id, Prompt: blocks, IfIdle: "startTurn"}
	if p.IdleBehavior == "promptRequired" {
		params.IfIdle = "error"
	}
	res, err := askInOrder(ctx, s.core, agentapi.Turns.Steer, params, nil)
	var e *jsonrpc2.Error
	if errors.As(err, &e) && e.Code > 0 {
		return map[string]any{"outcome": "failed", "reason": e.Message}, nil
	}
	if err != nil {
		return nil, err
	}
	outcome := "injected"
	if res.Outcome == "startedTurn" {
		outcome = "startedNewTurn"
	}
	return map[string]any{"outcome": outcome, "messageId": res.MessageID}, nil
}
