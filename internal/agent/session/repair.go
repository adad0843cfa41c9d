package session

import (
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// pair returns the history with the result of every call immediately after its assistant message,
// in call order. It creates missing results and omits results without a call.
func (r *reader) pair(history []*message.Message) []*message.Message {
	results := make(map[string][]int)
	for i, m := range history {
		if m.Role == message.RoleTool {
			results[m.CallID] = append(results[m.CallID], i)
		}
	}
	out := make([]*message.Message, 0, len(history))
	orphans := len(history)
	for i, m := range history {
		if m.Role == message.RoleTool {
			continue
		}
		out = append(out, m)
		orphans--
		for _, call := range m.ToolCalls() {
			at := take(results, call.ID, i)
			if at < 0 {
				out = append(out, r.interrupt(m, call))
				continue
			}
			out = append(out, history[at])
			orphans--
		}
	}
	if orphans > 0 {
		r.problem(0, 0, fmt.Sprintf("%d results without a call are skipped", orphans))
	}
	return out
}

// take returns the index of the first result of a call after index i, or -1.
func take(results map[string][]int, callID string, i int) int {
	list := results[callID]
	for len(list) > 0 && list[0] < i {
		list = list[1:]
	}
	if len(list) == 0 {
		return -1
	}
	results[callID] = list[1:]
	return list[0]
}

// interrupt creates the result of a call that a crash interrupted, and the item that shows the
// result. The next write stores both.
func (r *reader) interrupt(m *message.Message, call *message.ToolCall) *message.Message {
	in := Interrupted{Call: call, TurnID: m.TurnID}
	start, started := r.started[call.ID]
	in.Started = started
	if ask := r.lib.opts.PendingProposal; ask != nil && start.ItemID != "" {
		in.ProposalID = ask(r.log.entry.ID, start.ItemID)
	}
	result := message.NewText(message.RoleTool, interruptedText(in))
	result.ID = "interrupted-" + call.ID
	result.CallID, result.Name, result.IsError = call.ID, call.Name, true
	result.Time, result.TurnID, result.Author = r.log.entry.UpdatedAt, m.TurnID, "tools"
	in.Result = result
	r.out.Interrupted = append(r.out.Interrupted, in)
	r.repairs = append(r.repairs, agent.Record{Type: agent.RecordMessage, Message: result,
		Time: result.Time})
	r.interruptItem(in, start.ItemID)
	return result
}

func interruptedText(in Interrupted) string {
	switch {
	case in.ProposalID != "":
		return "interrupted by a restart; proposal " + in.ProposalID + " is still pending"
	case in.Started:
		return "interrupted: agent-lsp ended while this call was running. It may have had effects; check before you repeat it."
	default:
		return "interrupted: agent-lsp ended before this call was started. It had no effect."
	}
}

func (r *reader) interruptItem(in Interrupted, itemID string) {
	if itemID == "" {
		itemID = "interrupted-item-" + in.Call.ID
	}
	r.out.LastSeq++
	it := Item{Seq: r.out.LastSeq, TurnID: in.TurnID, Item: agent.Item{
		ID: itemID, Type: agent.ItemToolCall, CreatedAt: in.Result.Time,
		Status: agent.StatusCancelled, MessageID: in.Result.ID,
		Call: &agent.CallItem{CallID: in.Call.ID, Name: in.Call.Name, Label: in.Call.Name,
			Args: in.Call.Args, IsError: true,
			Result: in.Result.TextContent(), ProposalID: in.ProposalID},
	}}
	d, _ := storeItem(it, recent{in.Result})
	if rec, err := newRecord(RecordItem, in.Result.Time, d); err == nil {
		r.repairs = append(r.repairs, rec)
	}
}

// closeTurn ends a turn that a crash interrupted.
func (r *reader) closeTurn() {
	id := r.log.entry.OpenTurn
	if id == "" {
		return
	}
	turn := &agent.Turn{TurnID: id, Status: "aborted", EndReason: agent.EndAborted,
		AbortPhase: "inference"}
	for _, m := range r.out.Messages {
		if m.TurnID != id {
			continue
		}
		if m.Role == message.RoleAssistant {
			turn.ModelCalls++
			turn.ToolCalls += len(m.ToolCalls())
			if m.Usage != nil {
				turn.Usage = turn.Usage.Add(*m.Usage)
			}
		}
		if m.Role == message.RoleTool && m.IsError {
			turn.ToolErrors++
		}
	}
	if len(r.out.Interrupted) > 0 {
		turn.AbortPhase = "tool_execution"
	}
	if r.out.Paused && len(r.out.Interrupted) == 0 {
		turn.AbortPhase = "" // the turn waited for the end of the pause, and a resume continues it
	}
	r.out.InterruptedTurn = id
	r.out.Turns = append(r.out.Turns, *turn)
	r.repairs = append(r.repairs, agent.Record{Type: agent.RecordTurnEnd, Turn: turn,
		Time: r.log.entry.UpdatedAt})
}
