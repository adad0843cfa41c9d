package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// newCall prepares a call; it runs nothing.
func (s *Session) newCall(t *turn, call *message.ToolCall, index int, st *stream) *callRun {
	c := &callRun{s: s, t: t, step: t.step, call: call, index: index, args: call.Args, expire: make(chan struct{})}
	c.reg = t.step.Tools.Lookup(call.Name)
	c.prepare()
	it, shown := st.claim(call, index)
	started := it.ID != ""
	if !started {
		it = Item{ID: s.opts.NewID("item_"), Type: ItemToolCall, CreatedAt: time.Now(), MessageID: st.messageID}
		shown = c.reg == nil || !c.reg.Spec.Hidden
	}
	c.item, c.shown = it, shown
	c.item.Status = StatusPending
	c.item.Call = &CallItem{CallID: call.ID, Name: c.name(), Label: c.label(), Args: c.args, Locations: c.locations()}
	if started {
		c.tell(func(it Item) Event { return ItemUpdated{TurnID: t.id, Item: it} })
	} else {
		c.tell(func(it Item) Event { return ItemStarted{TurnID: t.id, Item: it} })
	}
	return c
}

func (c *callRun) name() string {
	if c.reg != nil {
		return c.reg.Spec.Name
	}
	return c.call.Name
}

// prepare finds the tool and puts the arguments right, or decides the result.
func (c *callRun) prepare() {
	if c.reg == nil {
		c.early = errorResult("%s", unknownTool(c.call.Name, c.step.Tools.Names()))
		return
	}
	if c.call.Problem != "" {
		c.early = c.counted(errorResult("Failed to parse arguments of %s: %s. You sent: %s\nSend the call again with a valid JSON object.",
			c.name(), c.call.Problem, tool.Quote(c.call.Raw)))
		return
	}
	if problem := c.read(c.call.Args); problem != nil {
		c.early = c.counted(problem)
	}
}

// read checks arguments against the schema and lets the tool read them; the result says what is
// wrong with them.
func (c *callRun) read(raw json.RawMessage) *tool.Result {
	args, problems := c.reg.Arguments(raw)
	if len(problems) > 0 {
		return errorResult("Invalid arguments for %s:\n- %s", c.name(), strings.Join(problems, "\n- "))
	}
	var p *tool.Prepared
	err := recovered(func() (err error) {
		p, err = c.reg.Tool.Prepare(c.t.ctx, &tool.Call{
			ID: c.call.ID, SessionID: c.s.opts.ID, TurnID: c.t.id, Name: c.name(), Args: args, Cwd: c.s.opts.Cwd,
		})
		return err
	})
	if err != nil {
		return errorResult("%s", preparing(c.name(), err))
	}
	c.args, c.prepared = args, c.completed(p)
	c.edit.locks(c.prepared.Locks)
	return nil
}

// preparing is what the model is told of a call that could not be prepared.
func preparing(name string, err error) string {
	var panicked *PanicError
	if errors.As(err, &panicked) {
		return fmt.Sprintf("%s: reading the arguments: %v", name, err)
	}
	return err.Error()
}

// completed fills in what the tool says of all its calls.
func (c *callRun) completed(p *tool.Prepared) *tool.Prepared {
	own := *p
	own.Effect = cmp.Or(own.Effect, c.reg.Spec.Effect, tool.Dangerous)
	own.Label = validUTF8(cmp.Or(own.Label, c.reg.Spec.Title()))
	return &own
}

// counted reports a failure to the tool's breaker that happened before it was asked.
func (c *callRun) counted(r *tool.Result) *tool.Result {
	if done, err := c.s.tools.allow(c.reg.Spec.Name); err == nil {
		done(errToolFailed)
	}
	return r
}

func errorResult(format string, args ...any) *tool.Result {
	return &tool.Result{Text: validUTF8(fmt.Sprintf(format, args...)), IsError: true}
}

// unnamed is the name under which the history has a call that came without one: providers refuse an empty name.
const unnamed = "unnamed"

func unknownTool(name string, names []string) string {
	if name == unnamed {
		return "The call has no tool name. Send it again with the name of a tool. Known tools: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("unknown tool: %s. Known tools: %s", tool.Quote(name), strings.Join(names, ", "))
}

// label is what the call is shown as.
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

// effect is what the call can do, as far as is known.
func (c *callRun) effect() tool.Effect {
	if c.prepared == nil {
		return tool.Dangerous
	}
	return c.prepared.Effect
}
