package agentapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:16]) }

func (a Turns) Prompt(ctx context.Context, p *wire.PromptParams) (wire.PromptResult, error) {
	delivery, err := deliveryFrom(p.Delivery)
	if err != nil {
		return wire.PromptResult{}, err
	}
	if isEmpty(p.Prompt) {
		return wire.PromptResult{}, Invalid("prompt", "is empty")
	}
	blocks, err := blocksFrom("prompt", p.Prompt)
	if err != nil {
		return wire.PromptResult{}, err
	}
	options, err := turnOptions(p.Options)
	if err != nil {
		return wire.PromptResult{}, err
	}
	l, err := a.orCurrent(ctx, p.SessionID)
	if err != nil {
		return wire.PromptResult{}, err
	}
	a.SetCurrent(l.ID)
	blocks = a.expand(ctx, l, blocks)
	blocks = append(a.attach(ctx, l, blocks, false), a.contextBlocks(ctx, l, p.Context)...)
	a.holdFor(ctx, l.ID)
	if err := a.ready(l, options); err != nil {
		return wire.PromptResult{}, err
	}
	acc, err := l.Engine.Prompt(agent.Prompt{
		Content: blocks, Delivery: delivery, ClientMessageID: p.ClientMessageID, Pin: p.Pin,
		Options: options,
	})
	if err != nil {
		return wire.PromptResult{}, err
	}
	return wire.PromptResult{
		SessionID:   l.ID,
		MessageID:   acc.MessageID,
		TurnID:      acc.TurnID,
		Disposition: string(acc.Disposition),
	}, nil
}

// isEmpty reports whether a prompt has no content.
func isEmpty(p wire.Prompt) bool {
	for _, b := range p {
		if b.Type != string(message.Text) || strings.TrimSpace(b.Text) != "" {
			return false
		}
	}
	return true
}

func deliveryFrom(d string) (agent.Delivery, error) {
	switch d {
	case "", "auto":
		return agent.DeliverAuto, nil
	case "queue":
		return agent.DeliverQueue, nil
	}
	return "", Invalid("delivery", "%q is neither auto nor queue", d)
}

// expand replaces a slash command with its expansion.
func (a *API) expand(ctx context.Context, l *host.Session, blocks []message.Block) []message.Block {
	if a.Core().Expand == nil || len(blocks) == 0 || blocks[0].Type != message.Text ||
		!strings.HasPrefix(blocks[0].Text, "/") {
		return blocks
	}
	if text, ok := a.Core().Expand(ctx, l.ID, blocks[0].Text); ok {
		blocks[0].Text = text
	}
	return blocks
}

func (a Turns) Steer(ctx context.Context, p *wire.SteerParams) (wire.SteerResult, error) {
	r, err := a.steerFrom(p)
	if err != nil {
		return wire.SteerResult{}, err
	}
	l, err := a.writable(ctx, p.SessionID)
	if err != nil {
		return wire.SteerResult{}, err
	}
	r.Content = a.attach(ctx, l, r.Content, r.OneShot)
	a.holdFor(ctx, l.ID)
	var out agent.SteerOutcome
	if p.ItemID != "" {
		if r.Options != nil {
			r.Options = nil
			l.Engine.Notice("warning", agent.OptionsIgnored)
		}
		if a.Core().Agents == nil {
			return wire.SteerResult{}, fmt.Errorf(
				"steering %s: no sub-agent is running there: %w",
				p.ItemID,
				ErrNotFound,
			)
		}
		out, err = a.Core().Agents.Steer(l.ID, p.ItemID, r)
	} else {
		if err := a.ready(l, r.Options); err != nil && r.ExpectedTurnID == "" &&
			startsTurn(r.IfIdle) {
			return wire.SteerResult{}, err
		}
		out, err = l.Engine.Steer(r)
	}
	if err != nil {
		return wire.SteerResult{}, err
	}
	a.noteUnsent(l, r.Content)
	return wire.SteerResult{Outcome: out.Outcome, MessageID: out.MessageID, TurnID: out.TurnID}, nil
}

// ready returns the reason why no turn can start in an idle session. The usual reason is that no
// model provider is configured.
func (a *API) ready(l *host.Session, o *agent.TurnOptions) error {
	if a.Core().Ready == nil || l.Engine.State().TurnID != "" {
		return nil
	}
	if o == nil {
		return a.Core().Ready(l.ID, "")
	}
	return a.Core().Ready(l.ID, o.Model)
}

func startsTurn(i agent.IfIdle) bool { return i == "" || i == agent.IdleStartTurn }

func (a *API) steerFrom(p *wire.SteerParams) (agent.SteerRequest, error) {
	r := agent.SteerRequest{
		ExpectedTurnID: p.ExpectedTurnID,
		IfIdle:         agent.IfIdle(p.IfIdle),
		OneShot:        p.Persist != nil && !*p.Persist,
		Pin:            p.Pin,
	}
	switch r.IfIdle {
	case "", agent.IdleStartTurn, agent.IdleQueue, agent.IdleError:
	default:
		return r, Invalid("ifIdle", "%q is not one of startTurn, queue, error", p.IfIdle)
	}
	switch p.Role {
	case "", "user":
	case "system":
		if !r.OneShot {
			return r, Invalid("role", "system is allowed only with persist false")
		}
		r.Role = message.RoleSystem
	default:
		return r, Invalid("role", "%q is neither user nor system", p.Role)
	}
	if isEmpty(p.Prompt) {
		return r, Invalid("prompt", "is empty")
	}
	if r.Pin && r.OneShot {
		return r, Invalid(
			"pin",
			"cannot be combined with persist false, because such a message is not stored",
		)
	}
	var err error
	if r.Options, err = turnOptions(p.Options); err != nil {
		return r, err
	}
	r.Content, err = blocksFrom("prompt", p.Prompt)
	return r, err
}

// Abort immediately aborts running work in a session. If the prompt has not been accepted yet, the
// result is idle and the caller must abort the session later.
func (a Turns) Abort(ctx context.Context, p *wire.AbortParams) (wire.AbortResult, error) {
	if p.SessionID == "" {
		return wire.AbortResult{}, Invalid("sessionId", "is missing")
	}
	l := a.Loaded(p.SessionID)
	if p.ItemID != "" {
		return a.abortAgent(l, p)
	}
	if l == nil {
		_, err := a.Core().Library.Entry(p.SessionID)
		return wire.AbortResult{State: agent.AbortIdle}, err
	}
	a.holdFor(ctx, l.ID)
	state, err := l.Engine.Abort(agent.AbortRequest{TurnID: p.TurnID, Silent: p.Silent})
	return wire.AbortResult{State: state}, err
}

func (a *API) abortAgent(l *host.Session, p *wire.AbortParams) (wire.AbortResult, error) {
	if l == nil || a.Core().Agents == nil {
		return wire.AbortResult{State: agent.AbortIdle}, nil
	}
	state, err := a.Core().Agents.Abort(l.ID, p.ItemID, p.Silent)
	return wire.AbortResult{State: state}, err
}

func (a Turns) Continue(ctx context.Context, p *wire.SessionParams) (wire.TurnResult, error) {
	l, err := a.writable(ctx, p.SessionID)
	if err != nil {
		return wire.TurnResult{}, err
	}
	a.holdFor(ctx, l.ID)
	id, err := l.Engine.Continue()
	return wire.TurnResult{TurnID: id}, err
}

func (a Turns) Queue(ctx context.Context, p *wire.QueueParams) (wire.QueueResult, error) {
	l, err := a.get(ctx, p.SessionID)
	if err != nil {
		return wire.QueueResult{}, err
	}
	return wire.QueueResult{Queue: queueTo(l.Engine.Queue())}, nil
}

func (a Turns) QueueRemove(ctx context.Context, p *wire.QueueParams) (wire.QueueResult, error) {
	if p.MessageID == "" {
		return wire.QueueResult{}, Invalid("messageId", "is missing")
	}
	l, err := a.writable(ctx, p.SessionID)
	if err != nil {
		return wire.QueueResult{}, err
	}
	a.holdFor(ctx, l.ID)
	queue, err := l.Engine.Unqueue(p.MessageID)
	if err != nil {
		return wire.QueueResult{}, err
	}
	return wire.QueueResult{Queue: queueTo(queue)}, nil
}

func (a Turns) QueueClear(ctx context.Context, p *wire.QueueParams) (wire.QueueResult, error) {
	l, err := a.writable(ctx, p.SessionID)
	if err != nil {
		return wire.QueueResult{}, err
	}
	a.holdFor(ctx, l.ID)
	if err := l.Engine.ClearQueue(); err != nil {
		return wire.QueueResult{}, err
	}
	return wire.QueueResult{Queue: queueTo(l.Engine.Queue())}, nil
}

// errTimeout is the cause of a wait that exceeded the client's time limit.
var errTimeout = errors.New("the wait timed out")

// maxWaitMs is a hundred years, which is longer than any real wait.
const maxWaitMs int64 = 100 * 365 * 24 * 60 * 60 * 1000

// Wait answers when the turn has ended and its last notification is queued.
func (a Turns) Wait(ctx context.Context, p *wire.TurnWaitParams) (wire.Turn, error) {
	if p.TimeoutMs < 0 {
		return wire.Turn{}, Invalid("timeoutMs", "must not be negative")
	}
	l, err := a.get(ctx, p.SessionID)
	if err != nil {
		return wire.Turn{}, err
	}
	// This response comes at the end of a turn. Updates that a load holds back must not wait for
	// it.
	host.LetGo(ctx)
	wait, done := ctx, context.CancelFunc(func() {})
	if p.TimeoutMs > 0 &&
		// Longer waits are unlimited, because time.Duration cannot represent them.
		int64(p.TimeoutMs) < maxWaitMs {
		wait, done = context.WithTimeoutCause(
			ctx,
			time.Duration(p.TimeoutMs)*time.Millisecond,
			errTimeout,
		)
	}
	defer done()
	t, err := l.Engine.Wait(wait, p.TurnID, p.MessageID)
	if errors.Is(err, errTimeout) {
		return wire.Turn{TurnID: t.TurnID, Status: agent.TurnStatusRunning}, nil
	}
	if err != nil {
		return wire.Turn{}, err
	}
	select {
	case <-l.Settled():
	case <-ctx.Done():
	}
	return TurnTo(t), nil
}

func (a Turns) Compact(ctx context.Context, p *wire.CompactParams) (wire.CompactResult, error) {
	l, err := a.writable(ctx, p.SessionID)
	if err != nil {
		return wire.CompactResult{}, err
	}
	c, err := l.Engine.Compact(ctx, p.Instructions)
	return wire.CompactResult{
		TokensBefore: c.TokensBefore,
		TokensAfter:  c.TokensAfter,
		Strategy:     c.Strategy,
	}, err
}

// Compacted describes the result of a compaction in a sentence.
func Compacted(r wire.CompactResult) string {
	if r.TokensAfter >= r.TokensBefore {
		return fmt.Sprintf(
			"There is nothing to compact: the conversation has %d tokens.",
			r.TokensBefore,
		)
	}
	return fmt.Sprintf(
		"The conversation now has %d tokens instead of %d.",
		r.TokensAfter,
		r.TokensBefore,
	)
}
