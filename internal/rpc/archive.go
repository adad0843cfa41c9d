package rpc

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// sessionFork copies a session up to an item. The copy is loaded and becomes the current one.
func (s *server) sessionFork(ctx context.Context, p *wire.SessionForkParams) (wire.SessionResult, error) {
	if p.SessionID == "" {
		return wire.SessionResult{}, invalid("sessionId", "is missing")
	}
	store, err := s.core.Library.Fork(p.SessionID, p.AtItemID, false)
	if err != nil {
		return wire.SessionResult{}, err
	}
	return s.adopt(ctx, store.ID())
}

// adopt loads a session that came to be and makes it the current one.
func (s *server) adopt(ctx context.Context, id string) (wire.SessionResult, error) {
	l, err := s.sessions.get(ctx, id)
	if err != nil {
		return wire.SessionResult{}, err
	}
	s.sessions.setCurrent(l.ID)
	return wire.SessionResult{SessionID: l.ID}, nil
}

func (s *server) sessionExport(_ context.Context, p *wire.SessionExportParams) (wire.SessionExportResult, error) {
	if p.SessionID == "" {
		return wire.SessionExportResult{}, invalid("sessionId", "is missing")
	}
	switch p.Format {
	case "":
		p.Format = "json"
	case "json", "markdown":
	default:
		return wire.SessionExportResult{}, invalid("format", "%q is neither json nor markdown", p.Format)
	}
	content, err := s.core.Library.Export(p.SessionID, p.Format)
	return wire.SessionExportResult{Content: content}, err
}

func (s *server) sessionImport(ctx context.Context, p *wire.SessionImportParams) (wire.SessionResult, error) {
	if p.Content == "" {
		return wire.SessionResult{}, invalid("content", "is missing")
	}
	store, problems, err := s.core.Library.Import([]byte(p.Content))
	if err != nil {
		return wire.SessionResult{}, invalid("content", "%v", err)
	}
	out, err := s.adopt(ctx, store.ID())
	for _, problem := range problems {
		s.peer.noticeIn(out.SessionID, "warning", "importing: "+problem.String())
	}
	return out, err
}
