package cli

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// outcome is the result of a call's proposal. The user sees the outcome instead of the call's
// result, which is meant for the model.
type outcome struct {
	State    string `json:"state"`
	Accepted int    `json:"accepted"`
	Total    int    `json:"hunks"`
	comment  string // the user's reason for rejecting changes
}

// outcomeOf reads the outcome from a completed call. ok is false if the call failed or proposed no
// changes.
func outcomeOf(it wire.Item) (o outcome, ok bool) {
	if it.ProposalID == "" || it.IsError {
		return o, false
	}
	return o, json.Unmarshal(it.Details, &o) == nil && o.State != ""
}

// decided returns the outcome of decisions that were made in this process.
func decided(p wire.Proposal, decisions []wire.Decision) outcome {
	o := outcome{State: p.State}
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			o.Total++
			if h.State == "accepted" {
				o.Accepted++
			}
		}
	}
	for _, d := range decisions {
		if d.Comment != "" {
			o.comment = ": " + d.Comment
			break
		}
	}
	return o
}

// none reports that no change was applied.
func (o outcome) none() bool { return o.State == "rejected" || o.State == "withdrawn" }

func (o outcome) String() string {
	switch {
	case o.State == "proposed":
		return count(o.Total, "change") + " not decided yet"
	case o.none():
		return count(o.Total, "change") + " rejected" + o.comment
	case o.Accepted < o.Total:
		return count(o.Accepted, "change") + " applied, " +
			count(o.Total-o.Accepted, "change") + " rejected" + o.comment
	}
	return count(o.Total, "change") + " applied"
}
