package policy

import "github.com/agent-lsp/agent-lsp/internal/realpath"

// unmoved returns the workspace folders that exist and contain no link. The folders were resolved
// when the session's settings were read. A command may have replaced a folder inside another one
// with a link since then.
func unmoved(roots []string) []string {
	var out []string
	for _, r := range roots {
		if real, err := realpath.Eval(r); err == nil && real == r {
			out = append(out, r)
		}
	}
	return out
}
