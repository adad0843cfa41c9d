package policy

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Mode is a named way of working. It selects the available tools, whether the model plans first,
// and the instructions for the model.
type Mode struct {
	Name    string
	Enable  []string // names or globs of the available tools
	Disable []string
	Plan    bool   // read-only until the user has approved a plan
	Prompt  string // added to the system prompt
}

// PlanMode is read-only until the user approves the plan. The same session then continues.
var PlanMode = Mode{
	Name: "plan", Plan: true,
	Prompt: "You are in plan mode. Read, search and run read-only commands as you need; edits and other commands are refused. " +
		"When you know what to do, present the plan with the tool for it. Do not change anything until the user has approved it.",
}

// DefaultMode changes no setting.
var DefaultMode = Mode{Name: "default"}

// SetPlan switches a session's plan mode on or off.
func (e *Engine) SetPlan(session string, on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	s.Plan = on
	e.sessions[session] = s
}

// ApprovePlan shows a plan to the user. If the user approves it, the session leaves plan mode.
// Otherwise, the decision contains a reason for the model. Only the user can approve a plan. Rules
// and profiles cannot.
func (e *Engine) ApprovePlan(ctx context.Context, req tool.ApprovalRequest,
	plan string) (tool.Decision, error) {
	d, err := e.askPerson(ctx, req,
		tool.Subject{Kind: tool.SubjectTrust, Title: "Carry out this plan?"}, plan,
		"edits and commands are possible once you approve it",
		Option{ID: "allow_once", Name: "Allow: carry out the plan", Kind: AllowOnce},
		Option{ID: "reject_once", Name: "Reject: keep planning", Kind: RejectOnce})
	if err == nil && d.Allow {
		e.SetPlan(req.SessionID, false)
	}
	return d, err
}

// TrustStore stores the user's answers to AskTrust's questions.
type TrustStore interface {
	Trusts(root string) (trusted, asked bool)
	Set(root string, trusted bool) error
}

// TrustQuestion asks whether something that no rule can allow may start a program, loosen a setting
// or supply a prompt.
type TrustQuestion struct {
	Request       tool.ApprovalRequest // session, turn and ID of the call
	Subject       tool.Subject
	Root          string // the name under which the answer is stored
	What          string // everything that the answer covers
	Reason        string
	Allow, Reject string // labels of the answers
}

// TrustSettings returns the question of whether workspace settings may loosen permissions. The
// parameter what lists these settings.
func TrustSettings(session, root, what string) TrustQuestion {
	return TrustQuestion{
		Request: tool.ApprovalRequest{SessionID: session}, Root: root, What: what,
		Subject: tool.Subject{
			Kind: tool.SubjectTrust, Title: "Trust the settings of " + root + "?",
			Paths: []string{root},
		},
		Reason: "the workspace's own settings would change what runs on this machine",
		Allow:  "Allow: trust this workspace", Reject: "Reject: ignore these settings",
	}
}

// AskTrust returns the user's answer. The user is asked once. A question that was not answered is
// asked again the next time.
func (e *Engine) AskTrust(ctx context.Context, store TrustStore, q TrustQuestion) (bool, error) {
	if trusted, asked := store.Trusts(q.Root); asked {
		return trusted, nil
	}
	d, err := e.askPerson(ctx, q.Request, q.Subject, q.What, q.Reason,
		Option{ID: "allow_always", Name: q.Allow, Kind: AllowAlways},
		Option{ID: "reject_always", Name: q.Reject, Kind: RejectAlways})
	if err != nil {
		return false, err
	}
	if d.GrantKey == "" {
		return false, nil
	}
	return d.Allow, store.Set(q.Root, d.Allow)
}

// AskFolder asks whether to use a folder that is unlikely to be a workspace. The parameter what
// describes the folder. The answer is not stored.
func (e *Engine) AskFolder(ctx context.Context, session, folder, what string) (bool, error) {
	d, err := e.askPerson(ctx, tool.ApprovalRequest{SessionID: session},
		tool.Subject{
			Kind: tool.SubjectTrust, Title: "Use all of " + folder + " as the workspace?",
			Paths: []string{folder},
		}, "",
		"it is "+what+": the agent could read, search and change everything in it",
		Option{ID: "allow_once", Name: "Allow: use the whole folder", Kind: AllowOnce},
		Option{ID: "reject_once", Name: "Reject: only files that are open", Kind: RejectOnce})
	return d.Allow, err
}

// askPerson asks the user one question that no rule may answer. The decision's GrantKey is the ID
// of the chosen option.
func (e *Engine) askPerson(ctx context.Context, req tool.ApprovalRequest, sub tool.Subject, preview,
	reason string, opts ...Option) (tool.Decision, error) {
	if e.opts.Asker == nil {
		return tool.Decision{Reason: "this needs the user's permission, and no client can ask for it"},
			nil
	}
	p := newPending(ctx, &req, Question{SessionID: req.SessionID, TurnID: req.TurnID,
		ItemID: req.ItemID, Title: sub.Title,
		Reason: reason, Subject: sub, Preview: preview, Options: opts})
	p.settled = func() bool { return false }
	p.take = func(r Reply) tool.Decision { return chosen(opts, r) }
	d, err := e.asks.await(p, e.family(req.SessionID))
	if err != nil {
		return tool.Decision{}, err
	}
	return *d, nil
}

// chosen turns a reply into a decision. The decision's GrantKey is the ID of the option.
func chosen(opts []Option, r Reply) tool.Decision {
	for _, o := range opts {
		if o.ID != r.OptionID || r.Cancelled {
			continue
		}
		d := tool.Decision{Allow: o.Kind == AllowOnce || o.Kind == AllowAlways, GrantKey: o.ID}
		if !d.Allow {
			d.Reason = refusal(userRefused, r.Feedback)
		}
		return d
	}
	return tool.Decision{Reason: refusal(noAnswer, r.Feedback)}
}
