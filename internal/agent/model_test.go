package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

func failed(k retry.Kind) error { return &retry.Error{Kind: k, Message: string(k)} }

// If the model call is retried, text that was already shown is retracted. Tools do not run again.
func TestRetryRetractsWhatWasShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		runs := 0
		look := fake("look", tool.ReadOnly,
			func(context.Context, *tool.Call) (*tool.Result,
				error) {
				runs++
				return &tool.Result{Text: "x"}, nil
			})
		m := script(
			step{calls: []message.ToolCall{call("c", "look", "")}},
			step{text: "half", err: failed(retry.Truncated)},
			step{err: &retry.Error{Kind: retry.RateLimit, Message: "slow down",
				RetryAfter: 7 * time.Second}},
			step{text: "whole"},
		)
		r := newRig(t, m, nil, look)
		r.env.Retry = retry.Policy{MaxRetries: 3, InitialDelay: time.Second, MaxDelay: time.Minute}
		defer r.close()
		begun := time.Now()
		turn := r.run("go")
		if took := time.Since(begun); took != 8*time.Second {
			t.Errorf("took %s", took)
		}
		if runs != 1 || turn.ModelCalls != 2 {
			t.Errorf("tool runs %d, turn %+v", runs, turn)
		}
		lines := r.log.lines()
		for _, want := range []string{
			"completed assistantMessage retracted \"half\"\nretrying 1/3 truncated in 1s\nretrying 2/3 rate_limit in 7s\nstarted assistantMessage\ndelta text \"whole\"\ncompleted assistantMessage \"whole\"",
		} {
			if !strings.Contains(lines, want) {
				t.Errorf("no\n%s\nin\n%s", want, lines)
			}
		}
		if strings.Contains(texts(r.s.Messages()), "half") {
			t.Error("the partial reply was stored")
		}
	})
}

// If a reply exceeds a size limit, its turn fails. The text that was shown is kept, and the reply
// is not requested again. The session continues.
func TestTooLongReplyKeepsWhatArrived(t *testing.T) {
	bubble(t, func(t *testing.T) {
		long := strings.Repeat("on and on ", 2*maxPartial/10)
		m := script(
			step{text: long, err: &retry.Error{Kind: retry.Client, Message: "too long",
				Err: retry.ErrReplyTooLong}},
			step{text: "short"},
		)
		r := newRig(t, m, nil)
		defer r.close()
		turn := r.run("go")
		if turn.Status != TurnStatusFailed || turn.Error == nil ||
			turn.Error.Message != "too long" || turn.ModelCalls != 1 {
			t.Errorf("turn %+v, error %+v", turn, turn.Error)
		}
		if lines := r.log.lines(); !strings.Contains(lines,
			"completed assistantMessage aborted \"on and on") ||
			strings.Contains(lines, "retracted") {
			t.Errorf("the item was not kept:\n%.2000s", lines)
		}
		if turn := r.run("again"); turn.Status != TurnStatusCompleted {
			t.Errorf("the next turn: %+v", turn)
		}
		kept := r.model.request(1).Messages[1]
		if text := kept.TextContent(); kept.Stop != message.StopError ||
			!strings.HasPrefix(text, "on and on") || !strings.HasSuffix(text, StoppedText) ||
			len(text) > maxPartial+100 {
			t.Errorf("kept %d bytes, stop %s: %.60s", len(text), kept.Stop, text)
		}
	})
}

// If the first model is overloaded, the next one answers. After a client error, the turn fails
// instead.
func TestFallbackModel(t *testing.T) {
	for kind, want := range map[retry.Kind]string{retry.Overloaded: TurnStatusCompleted,
		retry.Client: TurnStatusFailed} {
		bubble(t, func(t *testing.T) {
			first, second := script(), script(step{text: "from the second"})
			for range 9 {
				first.steps = append(first.steps, step{err: failed(kind)})
			}
			r := newRig(t, first, nil)
			r.env.Models = []Model{first, second}
			defer r.close()
			if turn := r.run("go"); turn.Status != want {
				t.Errorf("%s: turn %+v", kind, turn)
			}
		})
	}
}

// TestEndReasons checks the status and the end reason of turns that end in different ways.
func TestEndReasons(t *testing.T) {
	look := message.ToolCall{Name: "look"}
	cut := step{text: "and so on", stop: message.StopLength}
	filter := step{text: "x", stop: message.StopContentFilter}
	for _, tc := range []struct {
		name   string
		steps  []step
		limits Limits
		reason EndReason
		status string
		kind   retry.Kind
		calls  int
	}{
		{"stop", []step{{text: "done"}}, Limits{}, EndStop, TurnStatusCompleted, "", 1},
		{"max model calls", []step{{calls: []message.ToolCall{look}},
			{calls: []message.ToolCall{look}}}, Limits{MaxModelCalls: 2}, EndMaxModelCalls,
			TurnStatusCompleted, "", 2},
		{"token budget", []step{{calls: []message.ToolCall{look}, usage: message.Usage{Total: 50}}},
			Limits{Tokens: 50}, EndBudget, TurnStatusCompleted, "", 1},
		{"cost budget", []step{{calls: []message.ToolCall{look}, usage: message.Usage{Cost: 2}}},
			Limits{Cost: 1.5}, EndBudget, TurnStatusCompleted, "", 1},
		{"error", []step{{err: failed(retry.Auth)}}, Limits{}, EndError, TurnStatusFailed,
			retry.Auth, 1},
		{"length", []step{cut, cut, cut, cut}, Limits{}, EndLength, TurnStatusCompleted, "", 4},
		{"content filter", []step{filter, filter}, Limits{}, EndContentFilter, TurnStatusFailed,
			retry.ContentFilter, 2},
		{"filtered once", []step{filter, {text: "other words"}}, Limits{}, EndStop,
			TurnStatusCompleted, "", 2},
		{"blank", []step{{}, {}}, Limits{}, EndError, TurnStatusFailed, retry.Blank, 2},
		{"blank once", []step{{}, {text: "here"}}, Limits{}, EndStop, TurnStatusCompleted, "", 2},
		{"unknown finish", []step{{text: "a", stop: message.StopUnknown}, {text: "b"}}, Limits{},
			EndStop, TurnStatusCompleted, "", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, script(tc.steps...), nil, fake("look", tool.ReadOnly, nil))
				r.env.Limits = tc.limits
				defer r.close()
				turn := r.run("go")
				kind := retry.Kind("")
				if turn.Error != nil {
					kind = retry.Kind(turn.Error.Kind)
				}
				if turn.EndReason != tc.reason || turn.Status != tc.status || kind != tc.kind ||
					turn.ModelCalls != tc.calls {
					t.Errorf("turn %+v, error %v", turn, turn.Error)
				}
				checkDeltas(t, r.log.all())
				for _, m := range r.s.Messages() {
					if m.Source == message.SourceNudge {
						t.Error("a nudge was stored")
					}
				}
			})
		})
	}
}

// If a reply is cut off at the length limit, complete calls run, but the call that was cut off does
// not.
func TestLengthCutKeepsWholeCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{do: func(_ context.Context, _ *Request, on func(Delta)) (*Reply, error) {
			whole, half := call("a", "look", `{}`), call("b", "look", `{}`)
			half.Problem, half.Raw = "cut off", `{"pa`
			return &Reply{Message: &message.Message{Stop: message.StopLength,
				Content: []message.Block{
					{Type: message.ToolUse, Call: &whole}, {Type: message.ToolUse, Call: &half},
				}}}, nil
		}}, step{text: "ok"})
		r := newRig(t, m, nil, fake("look", tool.ReadOnly, nil))
		defer r.close()
		r.run("go")
		eq(t, "results", r.results(), "a: look ran")
	})
}

// Models, tools, instructions and the thinking level are read again before each model call.
func TestEnvIsReadAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		one := script(step{calls: []message.ToolCall{call("c", "swap", "")}})
		two := script(step{text: "from two"})
		var r *rig
		swap := fake("swap", tool.Mutates, func(context.Context, *tool.Call) (*tool.Result, error) {
			r.env.Models = []Model{two}
			r.env.System = []SystemBlock{{Text: "new instructions"}}
			r.env.Thinking = Thinking{Level: "high"}
			return &tool.Result{}, r.env.Tools.Add(fake("later", tool.ReadOnly, nil))
		})
		r = newRig(t, one, nil, swap)
		defer r.close()
		r.run("go")
		req := two.request(0)
		if req.System[0].Text != "new instructions" || req.Thinking.Level != "high" ||
			len(req.Tools) != 2 {
			t.Errorf("request %+v", req)
		}
	})
}

// If the environment has no provider, the turn fails with an error message.
func TestNoProvider(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(), nil)
		defer r.close()
		r.env.Models = nil
		turn := r.run("go")
		if turn.Status != TurnStatusFailed || turn.Error == nil ||
			turn.Error.Message != ErrNoProvider.Error() {
			t.Errorf("turn %+v, error %+v", turn, turn.Error)
		}
	})
}

// Messages that the application adds stay in the history but are not sent to the model.
func TestAppMessagesStayOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		app := message.NewText(message.RoleUser, "for the screen")
		app.App = "note"
		r := newRig(t, script(step{text: "A"}, step{text: "B"}),
			func(o *Options) { o.Restored.Messages = []*message.Message{app} })
		defer r.close()
		r.run("one")
		eq(t, "first", texts(r.model.request(0).Messages), `user "one"`)
		r.run("two")
		eq(t, "second", texts(r.model.request(1).Messages),
			"user \"one\"\nassistant \"A\"\nuser \"two\"")
		if len(r.s.Messages()) != 5 {
			t.Error(texts(r.s.Messages()))
		}
	})
}

// A call written as text is executed. Text that is shown while streaming stays in the final
// message. The text of such a call and ANSI escape sequences are never shown.
func TestCallsWrittenAsText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		say := func(pieces ...string) step {
			return step{do: func(_ context.Context, _ *Request, on func(Delta)) (*Reply, error) {
				for _, p := range pieces {
					on(Delta{Kind: DeltaText, Text: p})
				}
				return &Reply{Message: &message.Message{Stop: message.StopEnd,
					Content: []message.Block{{Type: message.Text,
						Text: strings.Join(pieces, "")}}}}, nil
			}}
		}
		m := script(say("I will \x1b[1", ";31mlook\x1b[0m now.\n\n<tool",
			"_call>\n{\"name\": \"look\", \"argu", "ments\": {}}\n</tool_call>"),
			say("<tool_call>{\"name\":\"look\",\"arguments\":{\"n\":2}}</tool_call>"),
			say("done ", "<b>it</b>"))
		r := newRig(t, m, nil, fake("look", tool.ReadOnly, nil))
		r.env.Repair = repair.Default()
		r.env.Repair.FallbackParser = true
		defer r.close()
		if turn := r.run("go"); turn.ToolCalls != 2 {
			t.Errorf("turn %+v: %s", turn, texts(r.s.Messages()))
		}
		checkDeltas(t, r.log.all())
		lines := r.log.lines()
		if strings.Contains(lines, "retracted") || strings.Contains(lines, "<tool") ||
			strings.Contains(lines, "\\x1b") ||
			!strings.Contains(lines, `completed assistantMessage "I will look now."`) ||
			!strings.Contains(lines, `completed assistantMessage "done <b>it</b>"`) ||
			strings.Count(lines, "started assistantMessage") != 2 {
			t.Error(lines)
		}
	})
}

// The item for a tool call starts while its arguments are streaming and becomes the item of the
// running call.
func TestToolInputStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{do: func(_ context.Context, _ *Request, on func(Delta)) (*Reply, error) {
			on(Delta{Kind: DeltaToolInput, Index: 0, CallID: "a", Name: "look", Text: `{"x":`})
			on(Delta{Kind: DeltaToolInput, Index: 0, Text: `1}`})
			on(Delta{Kind: DeltaToolInput, Index: 1, CallID: "b", Name: "look", Text: `{`})
			c := call("a", "look", `{"x":1}`)
			return &Reply{Message: &message.Message{Stop: message.StopToolUse,
				Content: []message.Block{{Type: message.ToolUse, Call: &c}}}}, nil
		}}, step{text: "ok"})
		r := newRig(t, m, nil, fake("look", tool.ReadOnly, nil))
		defer r.close()
		r.run("go")
		lines := r.log.lines()
		want := `started toolCall look pending
delta toolInput "{\"x\":"
delta toolInput "1}"
started toolCall look pending
delta toolInput "{"
state running queue=0
updated toolCall look pending
completed toolCall look cancelled
updated toolCall look running
completed toolCall look completed "look ran"`
		if !strings.Contains(lines, want) {
			t.Error(lines)
		}
	})
}

// If the store fails, the turn ends before a tool runs.
func TestNoToolBeforeItsMessageIsStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := false
		look := fake("look", tool.ReadOnly,
			func(context.Context, *tool.Call) (*tool.Result,
				error) {
				ran = true
				return &tool.Result{}, nil
			})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "look", "")}}), nil, look)
		r.log.fail = func(recs []Record) error {
			for _, rec := range recs {
				if rec.Type == RecordMessage && rec.Message.Role == message.RoleAssistant {
					return errors.New("disk full")
				}
			}
			return nil
		}
		turn := r.run("go")
		if ran || turn.Status != TurnStatusFailed ||
			!strings.Contains(turn.Error.Message, "disk full") {
			t.Errorf("ran %v, turn %+v %v", ran, turn, turn.Error)
		}
		synctest.Wait()
		r.log.fail = nil
		r.close()
	})
}

// A tool's result is stored before it is sent to the model.
func TestResultIsStoredBeforeTheNextCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var r *rig
		stored := 0
		r = newRig(t, script(step{calls: []message.ToolCall{call("c", "look", ""),
			call("d", "look", "")}}, step{do: func(context.Context, *Request, func(Delta)) (*Reply,
			error) {
			for _, m := range storedBy(r.log).Messages {
				if m.Role == message.RoleTool {
					stored++
				}
			}
			return &Reply{Message: message.NewText(message.RoleAssistant, "done")}, nil
		}}), nil, fake("look", tool.ReadOnly, nil))
		defer r.close()
		r.run("go")
		if stored != 2 {
			t.Errorf("%d results were stored when the model was called with two of them", stored)
		}
	})
}
