package openai

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Source calls a model elsewhere, such as behind a relay: it gives each delta to on, in
// order, and returns the provider's finish reason and the usage, nil where unknown. An
// error means that the answer is not whole.
type Source func(ctx context.Context, req *agent.Request, on func(agent.Delta)) (finish string, usage *message.Usage, err error)

// Proxy is an agent.Model made of a Source: deltas come in, a message goes out. Text and
// thought keep their order, calls are told apart by Delta.Index.
type Proxy struct {
	About  agent.ModelInfo
	Source Source
}

var _ agent.Model = (*Proxy)(nil)

// Info returns About.
func (p *Proxy) Info() agent.ModelInfo { return p.About }

// Generate makes one call of the source.
func (p *Proxy) Generate(ctx context.Context, req *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if on == nil {
		on = func(agent.Delta) {}
	}
	d := &chatDecoder{byIndex: map[int]*gathered{}, blocks: blocks{on: on}}
	finish, usage, err := p.Source(ctx, req, func(delta agent.Delta) {
		if delta.Kind == agent.DeltaToolInput {
			on(delta)
		}
		d.gather(delta)
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		m := &Model{host: p.About.Provider}
		return nil, (&call{m: m}).typed(err)
	}
	msg := d.message()
	msg.Usage, msg.Role, msg.Model = usage, message.RoleAssistant, p.About.ID
	msg.Stop = stopOf(finish, len(d.calls) > 0)
	return &agent.Reply{Message: msg, Finish: finish}, nil
}

// gather adds a delta to the message.
func (d *chatDecoder) gather(delta agent.Delta) {
	switch delta.Kind {
	case agent.DeltaText:
		d.blocks.addText(message.Text, delta.Text)
	case agent.DeltaReasoning:
		d.blocks.addText(message.Reasoning, delta.Text)
	case agent.DeltaToolInput:
		g := d.byIndex[delta.Index]
		if g == nil {
			g = &gathered{index: delta.Index}
			d.byIndex[delta.Index] = g
			d.calls = append(d.calls, g)
		}
		if delta.CallID != "" {
			g.id = delta.CallID
		}
		if delta.Name != "" {
			g.name = delta.Name
		}
		g.args.addText(delta.Text)
	}
}
