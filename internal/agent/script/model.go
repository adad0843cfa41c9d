package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/pause"
)

// Model plays a script inside the process, without a network: for tests under
// testing/synctest, where its delays take no time.
type Model struct {
	Script *Script
	ID     string // "" = "script"
	// OnRequest, where set, is given each request before it is answered.
	OnRequest func(*agent.Request)
}

var (
	_ agent.Model       = (*Model)(nil)
	_ agent.ModelLister = (*Model)(nil)
)

// Info names the model.
func (m *Model) Info() agent.ModelInfo {
	id := m.ID
	if id == "" {
		id = "script"
	}
	return agent.ModelInfo{ID: id, Provider: "script", ContextWindow: m.Script.Window}
}

// Models lists the one model.
func (m *Model) Models(context.Context) ([]agent.ModelInfo, error) {
	return []agent.ModelInfo{m.Info()}, nil
}

// Generate plays the next reply.
func (m *Model) Generate(ctx context.Context, req *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if m.OnRequest != nil {
		m.OnRequest(req)
	}
	if on == nil {
		on = func(agent.Delta) {}
	}
	st, err := m.Script.play(viewOfRequest(req))
	if err != nil {
		return nil, typed(err)
	}
	return (&inside{ctx: ctx, step: st, on: on, model: m.Info().ID}).play()
}

func typed(err error) error {
	var strict *refusal
	if errors.As(err, &strict) {
		return retry.Classify(400, nil, errorJSON(strict.code, strict.text), nil)
	}
	return retry.Classify(422, nil, errorJSON("script", err.Error()), nil)
}

// inside plays one reply inside the process.
type inside struct {
	ctx   context.Context
	step  *step
	on    func(agent.Delta)
	model string
}

func (p *inside) play() (*agent.Reply, error) {
	st := p.step
	if st.Raw != nil {
		p.pause()
		return nil, st.Raw.typed()
	}
	msg := &message.Message{Role: message.RoleAssistant, Model: p.model, Stop: message.StopEnd, Usage: p.usage()}
	p.text(msg, message.Reasoning, agent.DeltaReasoning, st.Reasoning)
	p.text(msg, message.Text, agent.DeltaText, st.Text)
	for i, c := range st.ToolCalls {
		p.call(msg, i, c)
	}
	if st.Error != nil && len(msg.Content) == 0 {
		p.pause()
	}
	if st.Stall { // there is no connection that could time out
		<-p.ctx.Done()
	}
	switch {
	case p.ctx.Err() != nil:
		return nil, context.Cause(p.ctx)
	case st.Error != nil:
		return nil, st.Error.typed(len(msg.Content) > 0)
	case st.Drop != 0:
		return nil, &retry.Error{Kind: retry.Truncated, Message: "the answer of the script stopped before its end", Hint: retry.Hint(retry.Truncated)}
	}
	if st.Finish != "" {
		msg.Stop = cmp.Or(stops[st.Finish], message.StopUnknown)
	}
	return &agent.Reply{Message: msg, Finish: st.finishReason()}, nil
}

// typed is what an answer that is no reply comes to.
func (r *raw) typed() error {
	if r.Status >= 400 {
		return retry.Classify(r.Status, map[string][]string{"Content-Type": {r.Type}}, []byte(r.Body), nil)
	}
	return &retry.Error{Kind: retry.Client, Message: "the script answered with no model's answer", Hint: retry.Hint(retry.Client)}
}

// stops are the finish reasons that a script can name.
var stops = map[string]message.StopReason{
	"stop": message.StopEnd, "tool_calls": message.StopToolUse, "length": message.StopLength, "content_filter": message.StopContentFilter,
}

func (e *failure) typed(inStream bool) error {
	status := e.Status
	if inStream {
		status = 0
	} else if status == 0 {
		status = 500
	}
	return retry.Classify(status, map[string][]string{"Retry-After": {e.RetryAfter.String()}}, errorJSON(e.code(), e.text()), nil)
}

func (p *inside) text(msg *message.Message, t message.BlockType, kind agent.DeltaKind, s string) {
	if s == "" {
		return
	}
	for _, piece := range pieces(s, p.step.Chunks) {
		p.emit(agent.Delta{Kind: kind, Text: piece})
	}
	msg.Content = append(msg.Content, message.Block{Type: t, Text: s})
}

func (p *inside) call(msg *message.Message, i int, c call) {
	d := agent.Delta{Kind: agent.DeltaToolInput, Index: i, CallID: c.ID, Name: c.Name}
	p.emit(d)
	for _, piece := range pieces(c.args, p.step.Chunks) {
		d.Text = piece
		p.emit(d)
	}
	tc := &message.ToolCall{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.args)}
	if !isObject(c.args) {
		tc.Args, tc.Raw, tc.Problem = json.RawMessage("{}"), strings.TrimSpace(c.args), "the arguments are not a JSON object"
	}
	msg.Content = append(msg.Content, message.Block{Type: message.ToolUse, Call: tc})
	msg.Stop = message.StopToolUse
}

// emit gives out a delta after the step's delay, unless the call has ended.
func (p *inside) emit(d agent.Delta) {
	p.pause()
	if p.ctx.Err() == nil {
		p.on(d)
	}
}

func (p *inside) pause() {
	if p.step.DelayMs <= 0 || p.ctx.Err() != nil {
		return
	}
	_ = pause.For(p.ctx, time.Duration(p.step.DelayMs)*time.Millisecond) // the caller looks at p.ctx
}

func (p *inside) usage() *message.Usage {
	if len(p.step.Usage) == 0 {
		return nil
	}
	u := &message.Usage{}
	if json.Unmarshal(p.step.Usage, u) != nil {
		return nil
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return u
}
