package app

import (
	"context"
	"errors"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// permit asks the user about a server's changes to files that need permission, such as files that
// start programs. The files that a rename or a code action changes are known only after the server
// has answered. The user has already been asked about the file that the call names.
func (l *languageServers) permit(
	ctx context.Context,
	call *tool.Call,
	title string,
	changes []workspace.Change,
) error {
	named := langserver.NamedFile(ctx)
	sub := &tool.Subject{Kind: tool.SubjectEdit, Title: title}
	for _, c := range changes {
		for _, ref := range []workspace.Ref{c.Ref, c.NewRef} {
			if ref.Path != "" && ref.Key != named.Key && !slices.Contains(sub.Paths, ref.Path) {
				sub.Paths = append(sub.Paths, ref.Path)
			}
		}
	}
	resume := call.Paused()
	defer resume()
	waiting := false
	d, err := l.trust.policy().Approve(ctx, tool.ApprovalRequest{
		SessionID: call.SessionID, TurnID: call.TurnID, ItemID: call.ItemID, CallID: call.ID,
		Tool: tool.Spec{Name: "edit"}, Effect: tool.Mutates, Cwd: call.Cwd, Subject: sub,
		Waiting: func() {
			waiting = true
			call.Report(tool.Update{Status: tool.StatusAwaitingPermission})
		},
	})
	if waiting {
		call.Report(tool.Update{Status: tool.StatusRunning})
	}
	if err == nil && !d.Allow {
		err = errors.New(d.Reason)
	}
	return err
}
