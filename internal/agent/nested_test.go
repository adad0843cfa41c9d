package agent

import (
	"context"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// A sub-agent in the background may end after the turn that started it. Its usage is added to the
// session immediately, and to the next turn, so that the stored turns contain all usage.
func TestLateUsageGoesToTheNextTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var spent func(message.Usage)
		sub := fake("agent", tool.Mutates, func(_ context.Context, c *tool.Call) (*tool.Result,
			error) {
			spent = c.Spent
			spent(message.Usage{Total: 1})
			return &tool.Result{Text: "started"}, nil
		})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "agent", "")}},
			step{text: "first"}, step{text: "second"}, step{text: "third"}), nil, sub)
		defer r.close()
		first := r.run("go")
		before := r.s.State().Usage.Total
		spent(message.Usage{Total: 500, Cost: 2})
		if u := r.s.State().Usage; u.Total != before+500 || u.Cost != 2 {
			t.Errorf("the session has used %+v", u)
		}
		second, third := r.run("on"), r.run("and on")
		if own := third.Usage.Total; second.Usage.Total != own+500 || second.Usage.Cost != 2 {
			t.Errorf("the turns have used %+v and %+v", second.Usage, third.Usage)
		}
		sum := first.Usage.Add(second.Usage).Add(third.Usage)
		if u := r.s.State().Usage; u.Total != sum.Total {
			t.Errorf("the session has used %d, and its turns %d", u.Total, sum.Total)
		}
	})
}
