package app

import (
	"context"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/hooks"
	"github.com/agent-lsp/agent-lsp/internal/policy"
)

// hookedAsker runs the beforePermission hooks. If the hooks do not answer, it asks the user.
type hookedAsker struct {
	sessions *liveSessions
	next     policy.Separate
}

var _ policy.Separate = hookedAsker{}

func (a hookedAsker) Separately() bool { return a.next.Separately() }

// Ask passes each question to the hooks separately. It asks the user the questions that the hooks
// did not answer.
func (a hookedAsker) Ask(ctx context.Context, questions []policy.Question) []policy.Reply {
	replies := make([]policy.Reply, len(questions))
	answered := make([]bool, len(questions))
	var wg sync.WaitGroup
	for i, q := range questions {
		wg.Go(func() {
			if replies[i], answered[i] = a.byHooks(ctx, q); answered[i] {
				q.Answer(replies[i])
			}
		})
	}
	wg.Wait()
	var open []policy.Question
	var at []int
	for i, q := range questions {
		if !answered[i] {
			open, at = append(open, q), append(at, i)
		}
	}
	if len(open) == 0 {
		return replies
	}
	for i, r := range a.next.Ask(ctx, open) {
		replies[at[i]] = r
	}
	return replies
}

// byHooks runs the session's hooks in order. The first hook that decides determines the answer. A
// hook that fails does not decide. Hooks cannot decide whether a workspace is trusted or a plan is
// approved, and cannot let a command leave the sandbox.
func (a hookedAsker) byHooks(ctx context.Context, q policy.Question) (policy.Reply, bool) {
	p := a.sessions.get(q.SessionID)
	if p == nil || q.Subject.Kind == tool.SubjectTrust {
		return policy.Reply{}, false
	}
	for _, h := range p.hooks.now() {
		ph, ok := h.(hooks.PermissionHook)
		if !ok {
			continue
		}
		decision, reason, err := ph.BeforePermission(ctx, hooks.Permission{
			SessionID: q.SessionID, TurnID: q.TurnID, Cwd: p.info.Cwd, Title: q.Title,
			Reason: q.Reason, Subject: q.Subject})
		switch {
		case err != nil:
			p.info.Notice("warning", "hook "+h.HookName()+": "+err.Error())
		case decision == "allow" && q.Sandbox == policy.Outside:
			continue // only the user can let a command leave the sandbox
		case decision != "":
			return replyOf(q, decision == "allow", reason)
		}
	}
	return policy.Reply{}, false
}

// replyOf chooses the option that allows or refuses the request once.
func replyOf(q policy.Question, allow bool, reason string) (policy.Reply, bool) {
	want := policy.RejectOnce
	if allow {
		want = policy.AllowOnce
	}
	for _, o := range q.Options {
		if o.Kind == want {
			return policy.Reply{OptionID: o.ID, Feedback: reason}, true
		}
	}
	return policy.Reply{}, false
}
