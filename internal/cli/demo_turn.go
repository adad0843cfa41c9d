package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// prompt sends a prompt and shows the turn until it ends.
func (d *demo) prompt(ctx context.Context, text string) (session string, err error) {
	d.view.title("Prompt: " + text)
	session, err = d.client.prompt(ctx, "", text)
	if err != nil {
		return "", err
	}
	for {
		e, err := d.next(ctx.Done())
		if e == nil {
			return "", cmp.Or(err, ctx.Err())
		}
		done, err := d.show(ctx, *e)
		if err != nil || done {
			return session, err
		}
	}
}

// show handles one message. done reports that the turn has ended.
func (d *demo) show(ctx context.Context, n event) (done bool, err error) {
	if n.reply != nil {
		asked, stop := context.WithCancel(n.ctx)
		defer context.AfterFunc(ctx, stop)()
		defer stop()
		n.reply <- d.reply(asked, n)
		return false, nil
	}
	switch n.method {
	case wire.MethodDelta:
		var p wire.Delta
		if err := json.Unmarshal(n.params, &p); err != nil {
			return false, err
		}
		d.view.delta(p.Kind, p.Text)
	case wire.MethodItemUpdated, wire.MethodItemCompleted:
		var p wire.ItemEvent
		if err := json.Unmarshal(n.params, &p); err != nil {
			return false, err
		}
		d.item(n.method == wire.MethodItemCompleted, p.Item)
	case wire.MethodProposalCreated:
		var p wire.ProposalCreated
		if err := json.Unmarshal(n.params, &p); err != nil {
			return false, err
		}
		return false, d.decide(ctx, p.Proposal, p.Diff)
	case wire.MethodRetry:
		var p wire.RetryScheduled
		if err := json.Unmarshal(n.params, &p); err != nil {
			return false, err
		}
		wait := strings.TrimSuffix(fmt.Sprintf("%.1f", float64(p.DelayMs)/1000), ".0")
		d.view.note(fmt.Sprintf("%s; trying again in %s s (%d of %d)", p.Error.Message, wait,
			p.Attempt, p.MaxRetries))
	case wire.MethodTurnCompleted:
		var p wire.TurnCompleted
		if err := json.Unmarshal(n.params, &p); err != nil {
			return false, err
		}
		return true, d.end(p.Turn)
	}
	return false, nil
}

// item shows a notice, or shows a call at its first update and again when the call is done.
func (d *demo) item(completed bool, it wire.Item) {
	if it.Type == "notice" && completed && it.Text != nil {
		d.view.aside(*it.Text)
	}
	if it.Type != "toolCall" {
		return
	}
	if d.calls == nil {
		d.calls = map[string]string{}
	}
	if _, shown := d.calls[it.ItemID]; !shown {
		d.calls[it.ItemID] = cmp.Or(it.Label, it.Name)
		d.view.call(d.calls[it.ItemID])
	}
	if completed {
		d.view.callEnd(d.calls[it.ItemID], it, d.outcome(it))
	}
}

// outcome returns the result of a call's proposal, or nil if the call proposed no change. A
// decision made in this process is newer than the call's own result.
func (d *demo) outcome(it wire.Item) *outcome {
	o, ok := outcomeOf(it)
	if here, made := d.decided[it.ProposalID]; ok && made {
		return &here
	}
	if !ok {
		return nil
	}
	return &o
}

func (d *demo) end(t wire.Turn) error {
	d.view.endLine()
	if t.Status != "completed" {
		why := t.Status
		if t.Error != nil {
			why += ": " + t.Error.Message
		}
		return fmt.Errorf("the turn ended with the status %s", why)
	}
	d.view.note(fmt.Sprintf("Turn completed: %d model calls, %d tool calls.", t.ModelCalls,
		t.ToolCalls))
	return nil
}

// decide shows a proposal and sends the decision of the user or of the demo itself.
func (d *demo) decide(ctx context.Context, p wire.Proposal, diff string) error {
	d.view.diff(p.Title, diff)
	if !undecided(p) || ctx.Err() != nil {
		return nil
	}
	if d.alone {
		return d.decideAlone(ctx, p)
	}
	answer := d.choose(ctx, "accept? [y]es, [n]o, [h]unk by hunk", "ynh", d.byItself(p))
	var decisions []wire.Decision
	switch answer {
	case "y":
		decisions = []wire.Decision{{HunkID: "*", Action: "accept"}}
	case "h":
		decisions = d.hunkByHunk(ctx, p)
	default:
		decisions = []wire.Decision{{HunkID: "*", Action: "reject", Comment: d.comment(ctx, "")}}
	}
	if ctx.Err() != nil {
		return nil // after an interrupt, the abort that follows withdraws the proposal
	}
	return d.resolve(ctx, p, decisions)
}

// decideAlone rejects proposals that block the turn when no user can decide. Proposals under the
// collect policy do not block the turn. They stay pending for the next client that opens the
// session.
func (d *demo) decideAlone(ctx context.Context, p wire.Proposal) error {
	if d.policy == "collect" {
		d.waits++
		return nil
	}
	d.refused++
	return d.resolve(ctx, p, []wire.Decision{{HunkID: "*", Action: "reject",
		Comment: "no user was available to decide"}})
}

// undecided reports whether a proposal waits for a decision. A proposal that was applied
// immediately does not wait.
func undecided(p wire.Proposal) bool {
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if h.State == "pending" && f.Placement == "proposed" {
				return true
			}
		}
	}
	return false
}

func (d *demo) resolve(ctx context.Context, p wire.Proposal, decisions []wire.Decision) error {
	var res wire.ProposalResolveResult
	err := d.client.call(ctx, wire.MethodProposalResolve, wire.ProposalResolveParams{
		ProposalID: p.ProposalID, Revision: &p.Revision, Decisions: decisions}, &res)
	if err != nil {
		return err
	}
	if d.decided == nil {
		d.decided = map[string]outcome{}
	}
	d.decided[p.ProposalID] = decided(res.Proposal, decisions)
	return nil
}

// byItself returns the answer that the demo gives if no user can be asked. If there are several
// hunks, the demo decides each of them separately.
func (d *demo) byItself(p wire.Proposal) string {
	if len(p.Files) == 1 && len(p.Files[0].Hunks) == 1 {
		return "y"
	}
	return "h"
}

func (d *demo) hunkByHunk(ctx context.Context, p wire.Proposal) []wire.Decision {
	var out []wire.Decision
	n := 0
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			n++
			d.view.hunk(n, h.OldText, h.NewText)
			def := "y"
			if n > 1 {
				def = "n"
			}
			dec := wire.Decision{HunkID: h.HunkID, Action: "accept"}
			if d.choose(ctx, fmt.Sprintf("hunk %d? [y]es, [n]o", n), "yn", def) != "y" {
				dec.Action, dec.Comment = "reject", d.comment(ctx, demoComment)
			}
			out = append(out, dec)
		}
	}
	return out
}

// answer handles the daemon's requests. It queues questions for the user together with the output.
func (d *demo) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case wire.MethodEditorSave:
		return d.saveAll(params)
	case wire.MethodRequestPermission, wire.MethodAsk:
		reply := make(chan any, 1)
		d.events <- event{method: method, params: params, ctx: ctx, reply: reply}
		select {
		case r := <-reply:
			return r, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// reply answers a question. The daemon interprets nil as no.
func (d *demo) reply(ctx context.Context, n event) any {
	if n.method == wire.MethodAsk {
		var p wire.AskParams
		if json.Unmarshal(n.params, &p) != nil {
			return nil
		}
		return d.put(ctx, p)
	}
	var p wire.RequestPermissionParams
	if json.Unmarshal(n.params, &p) != nil {
		return nil
	}
	if d.alone {
		return d.refuse()
	}
	return d.permit(ctx, p)
}

// refuse returns the answer that is sent if no user can be asked. The answer explains to the model
// that no user made the decision.
func (d *demo) refuse() any {
	d.denied++
	return wire.RequestPermissionResult{Cancelled: true, Feedback: "no user was available to ask"}
}

// saveAll saves the documents that the daemon names, so that a command reads the same text as the
// editor shows.
func (d *demo) saveAll(params json.RawMessage) (any, error) {
	var p wire.EditorSaveParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	res := wire.EditorSaveResult{Saved: []string{}, Failed: []string{}}
	for _, uri := range p.URIs {
		if err := d.client.save(uri); err != nil {
			res.Failed = append(res.Failed, uri)
		} else {
			res.Saved = append(res.Saved, uri)
		}
	}
	return res, nil
}
