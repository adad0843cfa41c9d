package tool

import "encoding/json"

// ApprovalRequest is the question whether a call may run. The engine makes it, and the approver
// must not change it.
type ApprovalRequest struct {
	SessionID string
	TurnID    string
	ItemID    string
	CallID    string
	Tool      Spec
	Effect    Effect
	Args      json.RawMessage
	Cwd       string
	Subject   *Subject // nil: the tool has nothing to ask about
	// Waiting is called when the user is asked, so that the item shows it. It is never nil, and
	// calls after the first do nothing.
	Waiting func()
	// Gathered is closed when all calls that started together with this one wait for the user or
	// passed the question. Their questions can be shown as one. It may take as long as their
	// hooks: the approver limits the wait. nil: the call started alone.
	Gathered <-chan struct{}
	Index    int // of the call in its message
	// Foreseen is the user's answer to this request from before the call's turn (see
	// toolcall.Foreseer); nil: there is none.
	Foreseen *Decision
	Again    string // why the user is asked again; "": this is the first question
}

// Decision is an approver's answer.
type Decision struct {
	Allow    bool
	Reason   string   // of a denial, for the model: the policy's reason or the user's feedback
	Unboxed  bool     // run outside the sandbox: the user has agreed to that
	Secrets  []string // secret files that a command may read, links resolved
	GrantKey string   // the grant that allowed it, for the record
}
