package agent

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Approver decides whether a call may run. It is asked after the arguments were
// validated, before anything runs, from the call's goroutine.
// It may wait for a person for as long as ctx lives; when ctx ends, it answers at
// once with its cause. An error is a denial with the error's text.
type Approver interface {
	Approve(ctx context.Context, req ApprovalRequest) (Decision, error)
}

// Foreseer is an Approver that can ask about a call before its turn, so that a person is asked once
// about all calls of a message.
type Foreseer interface {
	Approver
	// Foresee asks a person, where Approve would have to, and returns the answer; nil where nobody
	// had to be asked, or ctx ended first. Approve decides all the same, at the call's turn, and is
	// handed the answer then.
	Foresee(ctx context.Context, req ApprovalRequest) *Decision
}

// ApprovalRequest is what an Approver is asked about.
type ApprovalRequest struct {
	SessionID string
	TurnID    string
	ItemID    string
	CallID    string
	Tool      tool.Spec
	Effect    tool.Effect
	Args      json.RawMessage
	Cwd       string
	Subject   *tool.Subject // nil: the tool has nothing to ask about
	// Waiting is called once when a person is really asked, so that the item shows it. Never nil.
	Waiting func()
	// Gathered is closed when the calls that started together with this one have all said that they
	// wait, or need not: what is asked by them is of one moment. It may take as long as their hooks;
	// who waits for it sets a bound. nil: the call started alone.
	Gathered <-chan struct{}
	Index    int // the call's place among those of its message
	// Foreseen is what a person has answered about this very request before the call's turn (see
	// Foreseer); nil: nothing.
	Foreseen *Decision
	Again    string // why the person is asked again; "": nobody was asked before
}

// Decision is an Approver's answer.
type Decision struct {
	Allow    bool
	Reason   string   // for the model where it is not allowed: the policy's reason or the user's feedback
	Unboxed  bool     // run outside the sandbox: the user has agreed to just that
	Secrets  []string // secret files that a command may read, links resolved
	GrantKey string   // the grant that allowed it, for the record
}
