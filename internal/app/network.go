package app

import (
	"context"
	"errors"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
)

// askHost asks whether a running call may connect to a host. It returns nil, or why not. The call's
// time limit does not run while the user is asked.
func (d *daemon) askHost(ctx context.Context, call *tool.Call, host, title string) error {
	resume := call.Paused()
	defer resume()
	waiting := false
	decision, err := d.policy.Approve(ctx, tool.ApprovalRequest{
		SessionID: call.SessionID, TurnID: call.TurnID, ItemID: call.ItemID, CallID: call.ID,
		Tool: tool.Spec{Name: string(tool.SubjectNetwork)}, Effect: tool.Mutates, Cwd: call.Cwd,
		Subject: &tool.Subject{Kind: tool.SubjectNetwork, Title: title, Name: host},
		Waiting: func() {
			waiting = true
			call.Report(tool.Update{Status: tool.StatusAwaitingPermission})
		},
	})
	if waiting {
		call.Report(tool.Update{Status: tool.StatusRunning})
	}
	switch {
	case err != nil:
		return err
	case !decision.Allow:
		return errors.New(decision.Reason)
	}
	return nil
}

// networkLists are the hosts that settings allow and deny, and what of them cannot be read.
func networkLists(c *config.Config) (hosts.Lists, []error) {
	if c.Network == nil {
		return hosts.Lists{}, nil
	}
	return hosts.Parse(c.Network.Allow, c.Network.Deny)
}
