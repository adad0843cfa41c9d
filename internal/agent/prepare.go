package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// newCall prepares a call; it runs nothing.
func (s *Session) newCall(t *turn, call *message.ToolCall, index int, st *stream) *callRun {
	c := &callRun{s: s, t: t, step: t.step, call: call, index: index, args: call.Args, effect: Dangerous, expire: make(chan struct{})}
	c.reg = t.step.Tools.lookup(call.Name)
	c.prepare()
	it, shown := st.claim(call, index)
	started := it.ID != ""
	if !started {
		it = Item{ID: s.opts.NewID("item_"), Type: ItemToolCall, CreatedAt: time.Now(), MessageID: st.messageID}
		shown = c.reg == nil || !c.reg.spec.Hidden
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
		return c.reg.spec.Name
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
			c.name(), c.call.Problem, quoteShort(c.call.Raw)))
		return
	}
	if err := recovered(func() error { c.classify(); return nil }); err != nil {
		c.early = c.counted(errorResult("%s: reading the arguments: %v", c.name(), err))
	}
}

func (c *callRun) classify() {
	args, problems := c.reg.schema.prepare(c.call.Args)
	if len(problems) > 0 {
		c.early = c.counted(errorResult("Invalid arguments for %s:\n- %s", c.name(), strings.Join(listed(problems), "\n- ")))
		return
	}
	c.args, c.effect = args, c.reg.spec.Effect
	if e, ok := c.reg.tool.(EffectTool); ok {
		c.effect = e.EffectOf(args)
	}
	if c.effect == "" {
		c.effect = Dangerous
	}
}

func listed(problems []string) []string {
	if n := len(problems) - maxProblems; n > 0 {
		return append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more", n))
	}
	return problems
}

// counted reports a failure to the tool's breaker that happened before it was asked.
func (c *callRun) counted(r *Result) *Result {
	if done, err := c.s.tools.allow(c.reg.spec.Name); err == nil {
		done(errToolFailed)
	}
	return r
}

func errorResult(format string, args ...any) *Result {
	return &Result{Text: validUTF8(fmt.Sprintf(format, args...)), IsError: true}
}

// unnamed is the name under which the history has a call that came without one: providers refuse an empty name.
const unnamed = "unnamed"

func unknownTool(name string, names []string) string {
	if name == unnamed {
		return "The call has no tool name. Send it again with the name of a tool. Known tools: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("unknown tool: %s. Known tools: %s", quoteShort(name), strings.Join(names, ", "))
}

func labelOf(reg *registered) string {
	if reg.spec.Label != "" {
		return reg.spec.Label
	}
	return reg.spec.Name
}

func (c *callRun) label() (label string) {
	if c.reg == nil {
		return c.call.Name
	}
	label = labelOf(c.reg)
	if l, ok := c.reg.tool.(LabelTool); ok && c.early == nil {
		_ = recovered(func() error { label = validUTF8(l.Label(c.args)); return nil })
	}
	return label
}

func (c *callRun) locations() (locs []Location) {
	if c.reg == nil || c.early != nil {
		return nil
	}
	if l, ok := c.reg.tool.(LocationTool); ok {
		_ = recovered(func() error { locs = l.Locations(c.args); return nil })
	}
	return locs
}
