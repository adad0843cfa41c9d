package langserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// rename implements the lsp_rename tool. It always asks one of the daemon's own servers, because
// agent/editor/query has no operation for renaming.
func (h *Hub) rename(ctx context.Context, call *tool.Call, a args,
	propose Propose) (*tool.Result, error) {
	if strings.TrimSpace(a.NewName) == "" {
		return nil, errors.New("no new_name is given")
	}
	r := &render{h: h, ctx: ctx, cwd: call.Cwd}
	at, err := h.place(ctx, r, a)
	if err != nil {
		return nil, err
	}
	s, err := h.ready(ctx, at.file)
	if err != nil {
		return nil, err
	}
	if !s.offers("renameProvider") {
		return nil, fmt.Errorf("no data: %s does not offer renaming; use grep and edit",
			s.conf.Name)
	}
	params := s.at(at)
	params["newName"] = a.NewName
	raw, err := s.call(ctx, protocol.MethodTextDocumentRename, params)
	if err != nil {
		return nil, err
	}
	changes, err := s.changes(ctx, call.Cwd, raw)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return r.result("no data: %s would change nothing; check that the position is on a name",
			s.conf.Name), nil
	}
	enc := h.opt.Workspace.Encoding()
	_, line := r.at(at.file.Ref.URI, at.position(enc), enc)
	return propose(ctx, call, fmt.Sprintf("Rename to %s (%s)", a.NewName, line), changes)
}
