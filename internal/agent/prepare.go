package agent

import (
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// newCall prepares a call without running the tool.
func (s *Session) newCall(t *turn, call *message.ToolCall, index int, st *stream) *callRun {
	c := &callRun{
		s: s, t: t, step: t.step, call: call, index: index, args: call.Args,
		report: &report{em: s.em, turnID: t.id}, expire: make(chan struct{}),
	}
	c.reg = t.step.Tools.Lookup(call.Name)
	c.prepare()
	it, shown := st.claim(call, index)
	started := it.ID != ""
	if !started {
		it = Item{
			ID:        s.opts.NewID("item_"),
			Type:      ItemToolCall,
			CreatedAt: time.Now(),
			MessageID: st.messageID,
		}
		shown = c.reg == nil || !c.reg.Spec.Hidden
	}
	c.report.item, c.report.shown = it, shown
	c.report.item.Status = StatusPending
	c.report.item.Call = &CallItem{
		CallID:    call.ID,
		Name:      c.name(),
		Label:     c.label(),
		Args:      c.args,
		Locations: c.locations(),
	}
	if started {
		c.report.tell(func(it Item) Event { return ItemUpdated{TurnID: t.id, Item: it} })
	} else {
		c.report.tell(func(it Item) Event { return ItemStarted{TurnID: t.id, Item: it} })
	}
	return c
}

func (c *callRun) name() string {
	if c.reg != nil {
		return c.reg.Spec.Name
	}
	return c.call.Name
}

// prepare finds the tool and corrects the arguments. If the call cannot run, it sets the result.
func (c *callRun) prepare() {
	if c.reg == nil {
		c.early = toolcall.Unknown(c.call.Name, c.step.Tools.Names())
		return
	}
	if c.call.Problem != "" {
		c.early = c.counted(toolcall.Unparsed(c.name(), c.call.Problem, c.call.Raw))
		return
	}
	if problem := c.read(c.call.Args); problem != nil {
		c.early = c.counted(problem)
	}
}

// read checks the arguments against the schema and lets the tool decode them. If the arguments are
// wrong, the result explains why.
func (c *callRun) read(raw json.RawMessage) *tool.Result {
	call := &tool.Call{
		ID: c.call.ID, SessionID: c.s.opts.ID, TurnID: c.t.id, Name: c.name(), Args: raw,
		Cwd: c.s.opts.Cwd,
	}
	p, problem := toolcall.Prepare(c.t.ctx, c.reg, call)
	if problem != nil {
		return problem
	}
	c.args, c.object, c.prepared = call.Args, call.Object, p
	c.slot.Relock(c.files())
	return nil
}

// files returns the names of the files that the call changes or reads.
func (c *callRun) files() []string {
	if c.prepared.Effect == tool.ReadOnly {
		return c.prepared.Reads
	}
	return c.prepared.Locks
}

// counted reports to the tool's breaker a failure that happened before the breaker was consulted.
// It returns r.
func (c *callRun) counted(r *tool.Result) *tool.Result {
	if done, err := c.s.tools.Allow(c.reg.Spec.Name); err == nil {
		done(toolcall.ErrFailed)
	}
	return r
}

// label returns the text that describes the call to the user.
func (c *callRun) label() string {
	switch {
	case c.prepared != nil:
		return c.prepared.Label
	case c.reg != nil:
		return c.reg.Spec.Title()
	}
	return c.call.Name
}

func (c *callRun) locations() []tool.Location {
	if c.prepared == nil {
		return nil
	}
	return c.prepared.Locations
}

// effect returns the possible effect of the call, as far as it is known.
func (c *callRun) effect() tool.Effect {
	if c.prepared == nil {
		return tool.Dangerous
	}
	return c.prepared.Effect
}
