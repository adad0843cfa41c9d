package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// reductions is a hook that counts the attempts to reduce the history.
type reductions struct{ n int }

func (h *reductions) HookName() string { return "count" }

func (h *reductions) BeforeCompact(context.Context, CompactInfo) (string, error) {
	h.n++
	return "", nil
}

// A reduction that saves nothing is not committed. After three unsuccessful attempts, no more are
// made as long as the request fits.
func TestFruitlessReductionsStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &reductions{}
		r := strictRig(t, newStrict(20000), func(o *Options) { withHooks(o, h) })
		defer r.close()
		// This reducer has nothing to remove.
		r.env.Context = ContextConfig{Trigger: 0.1, Reducers: []string{history.Dedupe}}
		r.run(strings.Repeat("word ", 2000))
		for i := range 10 {
			r.run(fmt.Sprint("turn ", i))
		}
		if h.n != MaxFruitless {
			t.Errorf("%d reductions were attempted, want %d", h.n, MaxFruitless)
		}
		if strings.Contains(r.log.lines(), "compacted") {
			t.Error("a reduction that saved nothing was committed")
		}
	})
}

// If a summary fails three times, it is not requested again.
func TestFailedSummariesStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newStrict(20000)
		asked := 0
		m.reply = bigCalls(6)
		m.summary = func() (*Reply, error) {
			asked++
			return nil, failed(retry.Client)
		}
		r := strictRig(t, m, nil, bigTool(8000))
		defer r.close()
		r.env.Context.Reducers = []string{history.Summary, history.DropTurns}
		for i := range 20 {
			r.run(fmt.Sprint("turn ", i))
		}
		if asked != MaxFruitless {
			t.Errorf("%d summaries were requested, want %d", asked, MaxFruitless)
		}
	})
}

// Between two reductions, each request begins with the messages of the previous request, so that
// the provider's cache can be used.
func TestPrefixIsStable(t *testing.T) {
	for _, reducers := range [][]string{nil, {history.StrategySlidingWindow},
		{history.StrategyHybrid}} {
		bubble(t, func(t *testing.T) {
			m := newStrict(20000)
			m.reply = bigCalls(6)
			r := strictRig(t, m, nil, bigTool(8000))
			defer r.close()
			last, calls, reduced := "", 0, 0
			r.env.Context.Reducers = reducers
			r.env.Hooks = []Hook{sentHook(func(msgs []*message.Message) {
				now := texts(msgs)
				if calls++; !strings.HasPrefix(now, last) {
					reduced++
				}
				last = now
			})}
			for i := range 15 {
				r.run(fmt.Sprint("turn ", i))
			}
			commits := strings.Count(r.log.lines(), "compacted ")
			if reduced != commits || commits == 0 || commits > calls/3 {
				t.Errorf("%v: %d of %d requests had a new beginning, with %d reductions",
					reducers, reduced, calls,
					commits)
			}
		})
	}
}

// The system prompt and the tool schemas are counted before the first call.
func TestSystemAndToolsCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		used := func(system string, tools ...tool.Tool) int {
			r := newRig(t, script(steps(1)...), nil, tools...)
			defer r.close()
			r.env.System = []SystemBlock{{Text: system}}
			r.env.Context.Window = 100000
			r.run("hi")
			return r.s.State().ContextTokens
		}
		big := fake("big", tool.ReadOnly, nil)
		big.spec.Description = strings.Repeat("what it does ", 400)
		none, system, tools := used(""), used(strings.Repeat("be kind ", 1000)), used("", big)
		if system-none < 1500 || tools-none < 1000 {
			t.Errorf("nothing: %d, a system prompt of 8,000 bytes: %d, a tool of 5,200 bytes: %d",
				none, system, tools)
		}
	})
}

// After a restart, the provider's count of the conversation and the calibration of the estimate are
// restored.
func TestRestartKeepsTheCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newStrict(100000)
		m.factor, m.reply = 2, bigCalls(4)
		r := strictRig(t, m, nil, bigTool(8000))
		defer r.close()
		r.run("first")
		r.run("second")
		again := NewSession(Options{ID: "s", Restored: Restored{Messages: r.s.Messages()}})
		if got, want := again.State().ContextTokens, r.s.State().ContextTokens; got != want {
			t.Errorf("%d tokens after a restart, %d before it", got, want)
		}
		live, restored := &r.s.conv.view.meter, &again.conv.view.meter
		restored.SetOverhead(0)
		if live.Ratio() < 1.5 || restored.Ratio() < 1.5 {
			t.Errorf("ratio %.2f, after the restart %.2f", live.Ratio(), restored.Ratio())
		}
		// Messages that a reduction has replaced are not counted.
		last := r.s.Messages()[len(r.s.Messages())-1]
		notes := message.NewText(message.RoleUser, "notes")
		again = NewSession(Options{ID: "s", Restored: Restored{Messages: r.s.Messages(),
			Commits: []*Commit{{Through: last.ID,
				Replacement: []*message.Message{notes, {ID: last.ID}}}}}})
		if n := again.State().ContextTokens; n > 100 {
			t.Errorf("%d tokens after a reduction", n)
		}
	})
}
