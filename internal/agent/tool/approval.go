package tool

import (
	"context"
	"encoding/json"
)

// ApprovalRequest asks the approver to allow an action, such as a call. The approver must not
// change it.
type ApprovalRequest struct {
	SessionID string
	TurnID    string
	ItemID    string
	CallID    string
	Tool      Spec
	Effect    Effect
	Args      json.RawMessage
	Cwd       string
	Subject   *Subject                         // nil if no question is needed
	Preview   func(ctx context.Context) string // see Prepared.Preview; may be nil
	// Waiting is called when the user is asked, so that the item shows it. It may be nil.
	Waiting func()
	// Gathered is closed when all calls that started together with this one are waiting for the
	// user or need no question. Their questions can then be shown together. This may take as long
	// as their hooks run, so the approver limits the wait. Gathered is nil if the call started
	// alone.
	Gathered <-chan struct{}
	Index    int // index of the call in its message
	// Foreseen is the user's answer to this request if the user was asked before the call started
	// (see toolcall.Foreseer). Otherwise, it is nil.
	Foreseen *Decision
	Again    string // why the user is asked again; "" if this is the first question
}

// Decision is an approver's answer.
type Decision struct {
	Allow bool
	// Reason is the reason for a denial, for the model. It is the policy's reason or the user's
	// feedback.
	Reason   string
	Unboxed  bool     // the user agreed that the call runs outside the sandbox
	Secrets  []string // secret files that a command may read, with links resolved
	GrantKey string   // the grant that allowed the call, for the record
}
