package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// TestSteerRules checks the rules for steers (protocol 3.2).
func TestSteerRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, script(steps(9)...), nil)
		defer r.close()
		steer := func(req SteerRequest) (string, error) {
			req.Content = text("x")
			out, err := r.s.Steer(req)
			_, _ = r.s.Wait(t.Context(), "", "")
			return out.Outcome, err
		}
		if _, err := steer(SteerRequest{ExpectedTurnID: "other",
			IfIdle: IdleQueue}); !errors.Is(err, ErrTurnMismatch) {
			t.Error("expectedTurnId wins over ifIdle:", err)
		}
		if _, err := steer(SteerRequest{IfIdle: IdleError}); !errors.Is(err, ErrTurnMismatch) {
			t.Error(err)
		}
		if out, err := steer(SteerRequest{IfIdle: IdleQueue}); out != SteerQueued || err != nil {
			t.Error(out, err)
		}
		if out, err := steer(SteerRequest{}); out != SteerStartedTurn || err != nil {
			t.Error(out, err)
		}
		if _, err := r.s.Steer(SteerRequest{}); !errors.Is(err, ErrEmptyPrompt) {
			t.Error(err)
		}
		if _, err := steer(SteerRequest{Role: message.RoleSystem}); err == nil {
			t.Error("a stored system steer was accepted")
		}
	})
}

// A one-shot steer is sent with the next model call only and is never stored.
func TestOneShotSteer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, started, goOn := gateTool("gate")
		m := script(step{calls: []message.ToolCall{call("c", "gate", "")}},
			step{calls: []message.ToolCall{call("d", "gate", "")}}, step{text: "end"})
		r := newRig(t, m, nil, gate)
		r.env.System = []SystemBlock{{Text: "base"}}
		defer r.close()
		acc := r.prompt("go")
		<-started
		for _, role := range []message.Role{message.RoleSystem, message.RoleUser} {
			if out, err := r.s.Steer(SteerRequest{Content: text("psst"), OneShot: true,
				Role: role}); err != nil || out.Outcome != SteerInjected {
				t.Fatal(out, err)
			}
		}
		goOn <- true
		<-started
		goOn <- true
		r.wait(acc.TurnID)
		second, third := m.request(1), m.request(2)
		if n := len(second.System); n != 2 || second.System[1].Text != "psst" {
			t.Errorf("system of the next call: %v", second.System)
		}
		if last := second.Messages[len(second.Messages)-1]; last.TextContent() != "psst" {
			t.Errorf("last message of the next call: %q", last.TextContent())
		}
		if len(third.System) != 1 || strings.Contains(texts(third.Messages), "psst") ||
			strings.Contains(texts(r.s.Messages()), "psst") {
			t.Error("the one-shot was kept")
		}
	})
}

// A steer ends the wait for the user's answer, and its text becomes the feedback (protocol 3.2).
func TestSteerEndsTheWaitForAPerson(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ask := fake("ask", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result,
			error) {
			ctx, done := c.WaitContext(ctx)
			defer done()
			<-ctx.Done()
			return &tool.Result{Text: context.Cause(ctx).Error(), Denied: true, IsError: true}, nil
		})
		m := script(
			step{calls: []message.ToolCall{call("p", "run", ""), call("a", "ask", ""),
				call("z", "run", "")}}, step{text: "ok"},
			step{calls: []message.ToolCall{call("q", "ask", "")}}, step{text: "ok"})
		r := newRig(t, m, func(o *Options) { o.Approver = personApprover{} },
			fake("run", tool.Mutates, nil), ask)
		defer r.close()
		for _, want := range []string{"p: the user sent a message instead: no, do it so\na: Skipped due to queued user message.\nz: Skipped due to queued user message.\n", ""} {
			acc := r.prompt("go")
			synctest.Wait()
			if st := r.s.State().Status; st != SessionAwaiting {
				t.Fatalf("status %s", st)
			}
			if _, err := r.s.Steer(SteerRequest{Content: text("no, do it so")}); err != nil {
				t.Fatal(err)
			}
			r.wait(acc.TurnID)
			if want == "" {
				want = r.results()
				if !strings.Contains(want, "q: the user sent a message instead: no, do it so") {
					t.Error(want)
				}
			}
			eq(t, "results", r.results(), want)
		}
		if !strings.Contains(r.log.lines(), "updated toolCall run awaitingPermission") ||
			!strings.Contains(r.log.lines(), "completed toolCall run denied") {
			t.Error(r.log.lines())
		}
	})
}

// personApprover asks a user who never answers. It allows calls of the tool named ask without
// asking.
type personApprover struct{}

func (personApprover) Approve(ctx context.Context, req tool.ApprovalRequest) (tool.Decision,
	error) {
	if req.Tool.Name == "ask" {
		return tool.Decision{Allow: true}, nil
	}
	req.Waiting()
	<-ctx.Done()
	return tool.Decision{}, context.Cause(ctx)
}

// If a model call fails, a one-shot steer is sent with the next call instead.
func TestOneShotSurvivesAFailedCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{text: "A"}, step{err: failed("auth")}, step{text: "B"}, step{text: "C"})
		r := newRig(t, m, nil)
		defer r.close()
		r.run("one")
		if _, err := r.s.Steer(SteerRequest{Content: text("psst"), OneShot: true}); err != nil {
			t.Fatal(err)
		}
		if turn := r.wait(""); turn.Status != TurnStatusFailed {
			t.Fatalf("%+v", turn)
		}
		r.run("two")
		r.run("three")
		if !strings.Contains(texts(m.request(2).Messages), "psst") ||
			strings.Contains(texts(m.request(3).Messages), "psst") {
			t.Error(texts(m.request(2).Messages), texts(m.request(3).Messages))
		}
	})
}

// TestOneShotFirst checks that a one-shot steer may begin a session: each request begins with a
// user message, and no request asks the model to continue its reply.
func TestOneShotFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := script(step{calls: []message.ToolCall{call("c", "look", "")}}, step{text: "A"},
			step{text: "B"}, step{text: "C"})
		r := newRig(t, m, nil, fake("look", tool.ReadOnly, nil))
		defer r.close()
		for _, steer := range []string{"first", "second"} {
			out, err := r.s.Steer(SteerRequest{Content: text(steer), OneShot: true})
			if err != nil || out.Outcome != SteerStartedTurn {
				t.Fatalf("%+v, %v", out, err)
			}
			if turn := r.wait(out.TurnID); turn.Status != TurnStatusCompleted {
				t.Fatalf("%+v", turn)
			}
		}
		r.run("third")
		want := []string{"first", unstoredText, unstoredText, unstoredText}
		for i, first := range want {
			msgs := m.request(i).Messages
			if msgs[0].Role != message.RoleUser || msgs[0].TextContent() != first {
				t.Errorf("request %d begins with %s %q", i, msgs[0].Role, msgs[0].TextContent())
			}
			if strings.Contains(texts(msgs), nudgeResume) {
				t.Errorf("request %d: %s", i, texts(msgs))
			}
		}
	})
}

// If a call starts to wait for the user after a steer has arrived, the wait ends immediately.
func TestSteerBeforeTheWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		started, goOn := make(chan bool), make(chan bool)
		ask := fake("ask", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result,
			error) {
			started <- true
			<-goOn
			ctx, done := c.WaitContext(ctx)
			defer done()
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "ask", "")}},
			step{text: "ok"}), nil, ask)
		defer r.close()
		acc := r.prompt("go")
		<-started
		_, _ = r.s.Steer(SteerRequest{Content: text("so")})
		goOn <- true
		r.wait(acc.TurnID)
		eq(t, "results", r.results(), "c: the user sent a message instead: so")
	})
}
