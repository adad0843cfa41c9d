package agentapi

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// Fork copies a session up to an item. The copy is loaded and becomes the current session.
func (a Sessions) Fork(ctx context.Context, p *wire.SessionForkParams) (wire.SessionResult, error) {
	if p.SessionID == "" {
		return wire.SessionResult{}, Invalid("sessionId", "is missing")
	}
	store, err := a.Core().Library.Fork(p.SessionID, p.AtItemID, false)
	if err != nil {
		return wire.SessionResult{}, err
	}
	return a.adopt(ctx, store.ID())
}

// adopt loads a new session and makes it the current one.
func (a *API) adopt(ctx context.Context, id string) (wire.SessionResult, error) {
	l, err := a.get(ctx, id)
	if err != nil {
		return wire.SessionResult{}, err
	}
	a.SetCurrent(l.ID)
	return wire.SessionResult{SessionID: l.ID}, nil
}

func (a Sessions) Export(
	_ context.Context,
	p *wire.SessionExportParams,
) (wire.SessionExportResult, error) {
	if p.SessionID == "" {
		return wire.SessionExportResult{}, Invalid("sessionId", "is missing")
	}
	switch p.Format {
	case "":
		p.Format = "json"
	case "json", "markdown":
	default:
		return wire.SessionExportResult{}, Invalid(
			"format",
			"%q is neither json nor markdown",
			p.Format,
		)
	}
	content, err := a.Core().Library.Export(p.SessionID, p.Format)
	return wire.SessionExportResult{Content: content}, err
}

func (a Sessions) Import(
	ctx context.Context,
	p *wire.SessionImportParams,
) (wire.SessionResult, error) {
	if p.Content == "" {
		return wire.SessionResult{}, Invalid("content", "is missing")
	}
	store, problems, err := a.Core().Library.Import([]byte(p.Content))
	if err != nil {
		return wire.SessionResult{}, Invalid("content", "%v", err)
	}
	out, err := a.adopt(ctx, store.ID())
	for _, problem := range problems {
		a.noticeIn(out.SessionID, "warning", "importing: "+problem.String())
	}
	return out, err
}
