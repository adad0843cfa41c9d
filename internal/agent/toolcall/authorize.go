package toolcall

import (
	"cmp"
	"context"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Approver decides whether a call may run. The engine calls it from the call's goroutine, after the
// arguments are checked and before the call runs.
type Approver interface {
	// Approve may wait for the user until ctx ends. It then immediately returns ctx's cause. An
	// error is a denial with the error's text.
	Approve(ctx context.Context, req tool.ApprovalRequest) (tool.Decision, error)
}

// Foreseer is an Approver that can ask about a call in advance. The user can then be asked about
// all calls of a message together.
type Foreseer interface {
	Approver
	// Foresee asks the user if Approve would ask, and returns the answer. It returns nil if no
	// question is needed, or if ctx ended first. Approve still decides when the call is about to
	// run. It receives the answer as ApprovalRequest.Foreseen.
	Foresee(ctx context.Context, req tool.ApprovalRequest) *tool.Decision
}

// DenialReason returns the text that the model gets if an Approver did not allow a call.
func DenialReason(d tool.Decision, err error) string {
	if err != nil {
		return cmp.Or(err.Error(), deniedText)
	}
	return cmp.Or(d.Reason, deniedText)
}

const deniedText = "tool execution denied"
