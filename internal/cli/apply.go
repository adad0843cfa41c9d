package cli

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/rpc/textedit"
)

// applyEdit applies a workspace/applyEdit request to open documents and notifies the daemon of each
// change.
func (c *client) applyEdit(ctx context.Context, params json.RawMessage) (any, error) {
	changes, err := textedit.Changes(params)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range changes {
		d := c.docs[ch.TextDocument.URI]
		if d == nil || ch.TextDocument.Version != nil && *ch.TextDocument.Version != d.version {
			return textedit.Applied(textedit.Stale), nil
		}
		text, err := textedit.Apply(d.text, ch.Edits)
		if err != nil {
			return textedit.Applied(err.Error()), nil
		}
		d.text, d.version = text, d.version+1
		err = c.conn.Notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": ch.TextDocument.URI, "version": d.version},
			"contentChanges": []any{map[string]any{"text": text}}})
		if err != nil {
			return nil, err
		}
	}
	return textedit.Applied(""), nil
}
