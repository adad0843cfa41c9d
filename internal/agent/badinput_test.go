package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// results returns all tool results in the history, joined.
func (r *rig) results() string {
	var b strings.Builder
	for _, m := range r.s.Messages() {
		if m.Role == message.RoleTool {
			fmt.Fprintf(&b, "%s: %s\n", m.CallID, m.TextContent())
		}
	}
	return b.String()
}

// TestBadCalls checks that each invalid call from the model gets a result that explains the
// problem, and that the turn continues.
func TestBadCalls(t *testing.T) {
	props := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},` +
		`"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}`)
	for _, tc := range []struct {
		name  string
		calls []message.ToolCall
		want  string // expected results; "…" matches any text
	}{
		{"duplicate ids", []message.ToolCall{call("x", "echo", `{"path":"a"}`),
			call("x", "echo", `{"path":"b"}`)}, "x: a\ncall_…: b\n"},
		{"no id", []message.ToolCall{call("", "echo", `{"path":"a"}`)}, "call_…: a\n"},
		{"no name", []message.ToolCall{call("x", "", `{}`)},
			"x: The call has no tool name. Send it again with the name of a tool. Known tools: echo\n"},
		{"unknown tool", []message.ToolCall{call("x", "nope", `{}`)},
			"x: unknown tool: nope. Known tools: echo\n"},
		{"another case", []message.ToolCall{call("x", "ECHO", `{"path":"a"}`)}, "x: a\n"},
		{"alias", []message.ToolCall{call("x", "Say", `{"path":"a"}`)}, "x: a\n"},
		{"channel suffix", []message.ToolCall{call("x", "echo<|channel|>commentary",
			`{"path":"a"}`)}, "x: a\n"},
		{"args an array", []message.ToolCall{call("x", "echo", `[1]`)},
			"x: Failed to parse arguments of echo: the arguments are not a JSON object. You sent: [1]…"},
		{"args empty", []message.ToolCall{call("x", "echo", ``)},
			"x: Invalid arguments for echo:\n- \"path\": missing required parameter (string)\n"},
		{"args broken", []message.ToolCall{call("x", "echo", `{"path`)},
			"x: Failed to parse arguments of echo: …"},
		{"all problems", []message.ToolCall{call("x", "echo", `{"n":"many","z":1}`)},
			"x: Invalid arguments for echo:\n- \"path\": missing…\n- \"n\": must be integer, got string\n- \"z\": unknown parameter; the known parameters are n, path\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				echo := &funcTool{spec: tool.Spec{Name: "echo", Aliases: []string{"say"},
					Effect: tool.ReadOnly, Schema: props}}
				echo.run = func(_ context.Context, c *tool.Call) (*tool.Result, error) {
					var a struct{ Path string }
					err := json.Unmarshal(c.Args, &a)
					return &tool.Result{Text: a.Path}, err
				}
				r := newRig(t, script(step{calls: tc.calls}, step{text: "ok"}), nil, echo)
				r.env.Repair = repair.Options{} // without repairs
				defer r.close()
				if turn := r.run("go"); turn.EndReason != EndStop {
					t.Errorf("turn %+v", turn)
				}
				if got := r.results(); !like(got, tc.want) {
					t.Errorf("results:\n%s\nwant:\n%s", got, tc.want)
				}
			})
		})
	}
}

// like reports whether got matches want, in which "…" matches any text.
func like(got, want string) bool {
	parts := strings.Split(want, "…")
	for i, p := range parts {
		at := strings.Index(got, p)
		if at < 0 || i == 0 && at != 0 {
			return false
		}
		got = got[at+len(p):]
	}
	return got == "" || parts[len(parts)-1] == ""
}

func TestThousandCallsInOneReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls []message.ToolCall
		for i := range 1000 {
			calls = append(calls, call(fmt.Sprint("c", i), "look", `{}`))
		}
		r := newRig(t, script(step{calls: calls}, step{text: "ok"}), nil, fake("look",
			tool.ReadOnly, nil))
		defer r.close()
		if turn := r.run("go"); turn.ToolCalls != 1000 || turn.ToolErrors != 0 {
			t.Errorf("turn %+v", turn)
		}
	})
}

func TestHugeArgument(t *testing.T) {
	bubble(t, func(t *testing.T) {
		big := strings.Repeat("x", 10<<20)
		n := 0
		take := fake("take", tool.ReadOnly, func(_ context.Context, c *tool.Call) (*tool.Result,
			error) {
			n = len(c.Args)
			return &tool.Result{Text: string(c.Args)}, nil
		})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "take", `{"a":"`+big+`"}`)}},
			step{text: "ok"}), nil, take)
		defer r.close()
		r.run("go")
		if n < 10<<20 {
			t.Errorf("the tool got %d bytes", n)
		}
		if got := len(r.results()); got > toolcall.DefaultMaxResult+1000 {
			t.Errorf("the model gets %d bytes", got)
		}
	})
}

// The shown text is the text of the reply, even if the model streams invalid UTF-8 or only the
// beginning of the reply.
func TestInvalidUTF8InDeltas(t *testing.T) {
	bubble(t, func(t *testing.T) {
		beginning := func(_ context.Context, _ *Request, on func(Delta)) (*Reply, error) {
			on(Delta{Kind: DeltaText, Text: "half"})
			m := message.NewText(message.RoleAssistant, "half and half")
			m.Stop = message.StopEnd
			return &Reply{Message: m}, nil
		}
		r := newRig(t, script(step{chunks: []string{"a\xff", "b\xe4\xb8", "\xadc", "\xf0\x9f"}},
			step{do: beginning}), nil)
		defer r.close()
		r.run("go")
		r.run("go on")
		var shown []string
		for _, e := range r.log.all() {
			if done, ok := e.(ItemCompleted); ok && done.Item.Type == ItemAssistant {
				shown = append(shown, done.Item.Text)
			}
		}
		want := "a\uFFFDb中c\uFFFD\uFFFD"
		if got := r.s.Messages()[1].TextContent(); got != want {
			t.Errorf("history %q", got)
		}
		eq(t, "shown", strings.Join(shown, "\n"), want+"\nhalf and half")
		checkDeltas(t, r.log.all())
	})
}

// checkDeltas verifies that the deltas of each reply and of each reasoning text add up to the
// completed text.
func checkDeltas(t *testing.T, events []Event) {
	t.Helper()
	texts := map[string]string{}
	for _, e := range events {
		switch e := e.(type) {
		case ItemDelta:
			if e.Kind == DeltaText || e.Kind == DeltaReasoning {
				texts[e.ItemID] += e.Text
			}
		case ItemCompleted:
			typ := e.Item.Type
			if (typ == ItemAssistant || typ == ItemReasoning) && texts[e.Item.ID] != e.Item.Text {
				t.Errorf("deltas %q, completed %q", texts[e.Item.ID], e.Item.Text)
			}
		}
	}
}

// If a restored history contains results for calls that were never made, the model does not receive
// these results.
func TestOrphanResultsInRestoredHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		orphan := message.NewText(message.RoleTool, "never asked")
		orphan.CallID = "ghost"
		asked := message.NewText(message.RoleAssistant, "")
		c := call("c1", "look", `{}`)
		asked.Content = []message.Block{{Type: message.ToolUse, Call: &c}}
		r := newRig(t, script(step{text: "ok"}), func(o *Options) {
			o.Restored.Messages = []*message.Message{message.NewText(message.RoleUser, "old"),
				orphan, asked}
		})
		defer r.close()
		r.run("go")
		eq(t, "request", texts(r.model.request(0).Messages), `
user "old"
assistant "" look(c1)
tool "Not run: interrupted by a restart." for c1
user "go"`)
	})
}

func TestToolThatIgnoresCancellation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		running, release := make(chan bool), make(chan bool)
		deaf := fake("deaf", tool.Mutates, func(context.Context, *tool.Call) (*tool.Result, error) {
			running <- true
			<-release
			return &tool.Result{Text: "too late"}, nil
		})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "deaf", `{}`)}}), nil, deaf)
		defer r.close()
		acc := r.prompt("go")
		<-running
		begun := time.Now()
		if _, err := r.s.Abort(AbortRequest{}); err != nil {
			t.Fatal(err)
		}
		turn := r.wait(acc.TurnID)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("the abort took %s", took)
		}
		if turn.AbortPhase != PhaseToolExecution {
			t.Errorf("turn %+v", turn)
		}
		before := len(r.log.all())
		close(release)
		r.close()
		if after := r.log.all()[before:]; len(after) > 0 {
			t.Errorf("events after the end: %v", after)
		}
		if got := r.results(); !strings.HasPrefix(got, "c: "+toolcall.CancelledText) {
			t.Error(got)
		}
	})
}

func TestModelThatIgnoresCancellation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan bool)
		m := script(step{do: func(context.Context, *Request, func(Delta)) (*Reply, error) {
			<-release
			return nil, errors.New("late")
		}})
		r := newRig(t, m, nil)
		defer r.close()
		acc := r.prompt("go")
		begun := time.Now()
		_, _ = r.s.Abort(AbortRequest{})
		r.wait(acc.TurnID)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("the abort took %s", took)
		}
		close(release)
	})
}

func TestToolTimeoutAndAbandonment(t *testing.T) {
	bubble(t, func(t *testing.T) {
		polite := fake("polite", tool.Mutates, func(ctx context.Context,
			_ *tool.Call) (*tool.Result, error) {
			<-ctx.Done()
			return &tool.Result{Text: "half"}, ctx.Err()
		})
		release := make(chan bool)
		deaf := fake("deaf", tool.Mutates, func(context.Context, *tool.Call) (*tool.Result, error) {
			<-release
			return nil, nil
		})
		m := script(step{calls: []message.ToolCall{call("p", "polite", `{}`),
			call("d", "deaf", `{}`)}}, step{text: "ok"})
		r := newRig(t, m, nil, polite, deaf)
		defer r.close()
		r.run("go")
		eq(t, "results", r.results(), "p: tool execution timed out after 10m0s\nhalf\nd: tool execution timed out after 10m0s; it did not stop and was abandoned, so its effect is unknown.")
		close(release)
	})
}

// timedTool is a tool that sets its own time limit.
type timedTool struct {
	tool.Tool
	limit time.Duration
}

func (t timedTool) Spec() tool.Spec {
	s := t.Tool.Spec()
	s.Timeout = t.limit
	return s
}

// The smaller of a tool's own limit and the general limit applies. Time spent waiting for the user
// is excluded from both the limit and the displayed duration.
func TestSmallerTimeLimitCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := func(name string, limit time.Duration) tool.Tool {
			return timedTool{fake(name, tool.Mutates,
				func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
					<-ctx.Done()
					return &tool.Result{Text: "half"}, ctx.Err()
				}), limit}
		}
		asks := fake("asks", tool.Mutates, func(ctx context.Context, call *tool.Call) (*tool.Result,
			error) {
			time.Sleep(time.Second)
			wait, done := call.WaitContext(ctx)
			select {
			case <-wait.Done():
				t.Errorf("the wait for the user was ended: %v", context.Cause(wait))
			case <-time.After(10 * time.Minute):
			}
			done()
			resume := call.Paused()
			time.Sleep(10 * time.Minute)
			resume()
			<-ctx.Done()
			return &tool.Result{Text: "asked"}, ctx.Err()
		})
		m := script(step{calls: []message.ToolCall{call("g", "generous", `{}`),
			call("s", "short", `{}`), call("a", "asks", `{}`)}}, step{text: "ok"})
		r := newRig(t, m, nil, hang("generous", time.Hour), hang("short", time.Second), asks)
		r.env.ToolTimeout = 5 * time.Second
		defer r.close()
		r.run("go")
		eq(t, "results", r.results(), "g: tool execution timed out after 5s\nhalf\ns: tool execution timed out after 1s\nhalf\na: tool execution timed out after 5s\nasked")
		for _, e := range r.log.all() {
			if e, ok := e.(ItemCompleted); ok && e.Item.Call != nil &&
				e.Item.Call.Duration > 5*time.Second {
				t.Errorf("%s took %s: the wait for the user is counted", e.Item.Call.Name,
					e.Item.Call.Duration)
			}
		}
	})
}

func TestPanicsAreResults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		bad := fake("bad", tool.Mutates,
			func(context.Context, *tool.Call) (*tool.Result, error) { panic("boom") })
		m := script(step{calls: []message.ToolCall{call("c", "bad", `{}`)}}, step{text: "ok"})
		r := newRig(t, m, nil, bad)
		defer r.close()
		turn := r.run("go")
		eq(t, "results", r.results(), "c: panic: boom")
		if turn.ToolErrors != 1 || turn.Status != TurnStatusCompleted {
			t.Errorf("turn %+v", turn)
		}
	})
}

func TestPanicInModelFailsTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{do: func(context.Context, *Request, func(Delta)) (*Reply,
			error) {
			panic("boom")
		}}, step{text: "fine again"})
		r := newRig(t, m, nil)
		defer r.close()
		turn := r.run("go")
		if turn.Status != TurnStatusFailed || turn.Error.Kind != string(retry.Client) {
			t.Errorf("turn %+v", turn)
		}
		if turn := r.run("again"); turn.Status != TurnStatusCompleted {
			t.Errorf("turn %+v", turn)
		}
	})
}

// badHook is a hook that panics, hangs or fails on request.
type badHook struct {
	how string
	at  string
}

func (h badHook) HookName() string           { return "bad" }
func (h badHook) HookTimeout() time.Duration { return time.Second }
func (h badHook) act(ctx context.Context, at string) error {
	if h.at != at {
		return nil
	}
	switch h.how {
	case "panic":
		panic("garbage")
	case "hang":
		<-ctx.Done()
		time.Sleep(time.Second)
	}
	return errors.New("no")
}
func (h badHook) BeforeRun(ctx context.Context, _ string) error     { return h.act(ctx, "run") }
func (h badHook) BeforeModel(ctx context.Context, _ *Request) error { return h.act(ctx, "model") }
func (h badHook) AfterRun(ctx context.Context,
	_ Turn) error {
	return h.act(ctx, "afterRun")
}
func (h badHook) AfterModel(ctx context.Context, _ *Request, _ *Reply) error {
	return h.act(ctx, "afterModel")
}
func (h badHook) SessionStarts(ctx context.Context, _ SessionInfo) (string, error) {
	return "", h.act(ctx, "sessionStart")
}
func (h badHook) SessionEnds(ctx context.Context, _ SessionInfo) error {
	return h.act(ctx, "sessionEnd")
}
func (h badHook) BeforePrompt(ctx context.Context, _ string, _ *message.Message) (string, error) {
	return "", h.act(ctx, "prompt")
}
func (h badHook) BeforeTool(ctx context.Context, _ *tool.Call, _ tool.Spec) (ToolOutcome, error) {
	return ToolOutcome{}, h.act(ctx, "tool")
}
func (h badHook) AfterTool(ctx context.Context, _ *tool.Call, _ *tool.Result) (*tool.Result,
	error) {
	return nil, h.act(ctx, "afterTool")
}
func (h badHook) BeforeStop(ctx context.Context, _ Turn, _ string) (string, error) {
	return "", h.act(ctx, "stop")
}

func TestHookThatPanicsHangsOrErrs(t *testing.T) {
	for _, how := range []string{"panic", "hang", "error"} {
		for _, at := range []string{"run", "model", "tool", "afterTool", "afterModel", "stop",
			"afterRun", "sessionStart", "sessionEnd", "prompt"} {
			t.Run(how+" "+at, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ran := false
					look := fake("look", tool.ReadOnly, func(context.Context,
						*tool.Call) (*tool.Result, error) {
						ran = true
						return &tool.Result{Text: "seen"}, nil
					})
					m := script(step{calls: []message.ToolCall{call("c", "look", `{}`)}},
						step{text: "ok"})
					r := newRig(t, m, func(o *Options) { withHooks(o, badHook{how, at}) }, look)
					defer r.close()
					turn := r.run("go")
					fails := at == "run" || at == "model" || at == "prompt"
					if (turn.Status == TurnStatusFailed) != fails {
						t.Errorf("turn %+v", turn)
					}
					if wantRan := !fails && at != "tool"; ran != wantRan {
						t.Errorf("ran %v, want %v: %s", ran, wantRan, r.results())
					}
				})
			})
		}
	}
}
