package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Each context.* setting (window, reserve, trigger and target) takes effect within its limits.
func TestContextNumbers(t *testing.T) {
	m := newStrict(100000)
	for _, tc := range []struct {
		name    string
		c       ContextConfig
		learned int
		want    budget
	}{
		{"defaults", ContextConfig{}, 0, budget{100000, 87000, 85000, 60000, false}},
		{"window", ContextConfig{Window: 20000}, 0, budget{20000, 15904, 15000, 11250, false}},
		{"reserve", ContextConfig{Reserve: 20000}, 0, budget{100000, 80000, 80000, 60000, false}},
		{"a reserve is at most a quarter", ContextConfig{Reserve: 90000}, 0,
			budget{100000, 75000, 75000, 56250, false}},
		{"trigger", ContextConfig{Trigger: 0.5}, 0, budget{100000, 87000, 50000, 37500, false}},
		{"target", ContextConfig{Target: 0.2}, 0, budget{100000, 87000, 85000, 20000, false}},
		{"a target stays well below the trigger", ContextConfig{Target: 0.84}, 0,
			budget{100000, 87000, 85000, 63750, false}},
		{"shares beyond the window are the defaults", ContextConfig{Trigger: 7, Target: 7}, 0,
			budget{100000, 87000, 85000, 60000, false}},
		{"never", ContextConfig{Window: -1}, 0, budget{}},
		{"never, until a provider refused", ContextConfig{Window: -1}, 8192,
			budget{8192, 6144, 6144, 4608, true}},
		{"smaller than configured, as a provider said", ContextConfig{Window: 131072}, 8192,
			budget{8192, 6144, 6144, 4608, true}},
		{"larger than configured", ContextConfig{Window: 20000}, 50000,
			budget{20000, 15904, 15000, 11250, false}},
	} {
		if got := tc.c.budget(m, tc.learned); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// The model in context.summaryModel is used for summaries only.
func TestSummaryModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m, notes := newStrict(20000), newStrict(20000)
		m.reply = bigCalls(30)
		m.summary = func() (*Reply, error) {
			t.Error("the session's model was asked for a summary")
			return nil, errors.New("no")
		}
		r := strictRig(t, m, nil, bigTool(1500))
		r.env.Context = ContextConfig{Summary: notes, Reducers: []string{history.Summary}}
		defer r.close()
		for i := range 4 {
			r.run(fmt.Sprint("turn ", i))
		}
		if notes.n > 0 || !strings.Contains(r.log.lines(), "compacted summary") {
			t.Errorf("%d other calls, events:\n%s", notes.n, r.log.lines())
		}
	})
}

// context.keepRecent sets how much of the recent history is not summarized.
func TestKeepRecent(t *testing.T) {
	kept := func(recent int) int {
		var n int
		bubble(t, func(t *testing.T) {
			m := newStrict(40000)
			m.reply = bigCalls(30)
			r := strictRig(t, m, nil, bigTool(1500))
			r.env.Context = ContextConfig{Recent: recent, Reducers: []string{history.Summary}}
			defer r.close()
			for i := 0; !strings.Contains(r.log.lines(), "compacted"); i++ {
				r.run(fmt.Sprint("turn ", i))
			}
			for _, e := range r.log.all() {
				if c, ok := e.(Compacted); ok {
					n = c.MessagesAfter
					break
				}
			}
		})
		return n
	}
	if few, many := kept(1000), kept(12000); few*3 > many {
		t.Errorf("%d messages remain of 1,000 tokens, %d of 12,000", few, many)
	}
}

// tools.maxParallel limits the number of calls that run concurrently, and maxQueue limits the
// number of waiting messages.
func TestLimitsAreSettings(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tr := &tracer{}
		var calls []message.ToolCall
		for i := range 20 {
			calls = append(calls, call(fmt.Sprint(i), "read", ""))
		}
		r := newRig(t, script(step{calls: calls}, step{text: "ok"}),
			func(o *Options) { o.QueueLimit = 1 },
			tr.tool("read", tool.ReadOnly, time.Second))
		r.env.MaxParallel = 3
		defer r.close()
		acc := r.prompt("go")
		r.prompt("one waits")
		if _, err := r.s.Prompt(Prompt{Content: text("two do not")}); !errors.Is(err,
			ErrOverloaded) {
			t.Error(err)
		}
		r.wait(acc.TurnID)
		if tr.most != 3 {
			t.Errorf("%d ran together", tr.most)
		}
	})
}
