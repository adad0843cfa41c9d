package agentapi

import (
	"path/filepath"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// Permission converts a permission question to wire params.
func Permission(id string, q *policy.Question) wire.RequestPermissionParams {
	out := wire.RequestPermissionParams{
		RequestID: id, SessionID: q.SessionID, TurnID: q.TurnID, ItemID: q.ItemID,
		Title: q.Title, Reason: q.Reason, Preview: q.Preview, Sandbox: string(q.Sandbox),
		Subject: wire.Subject{
			Kind:    string(q.Subject.Kind),
			Command: q.Subject.Command,
			Cwd:     PathToURI(q.Subject.Cwd),
			URIs:    urisTo(q.Subject.Paths),
		},
		Options: make([]wire.PermissionOption, 0, len(q.Options)),
	}
	for _, o := range q.Options {
		out.Options = append(
			out.Options,
			wire.PermissionOption{
				OptionID: o.ID,
				Name:     o.Name,
				Kind:     string(o.Kind),
				Pattern:  o.Pattern,
			},
		)
	}
	return out
}

// LastingAnswer returns a sentence for a client that does not show patterns. It says what an answer
// for the session or the workspace allows, if that is more than the question says.
func LastingAnswer(q *policy.Question) string {
	pattern := q.Wider()
	if pattern == "" {
		return ""
	}
	return "An answer for the session or the workspace allows " + visible.Text(pattern) + "."
}

func urisTo(paths []string) []string {
	var out []string
	for _, path := range paths {
		if u, err := uri.Parse(path); err == nil && !filepath.IsAbs(path) && len(u.Scheme()) > 1 {
			out = append(out, path)
			continue
		}
		out = append(out, string(uri.File(path)))
	}
	return out
}
