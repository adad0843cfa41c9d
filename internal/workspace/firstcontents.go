package workspace

import (
	"fmt"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// FirstContents returns what the files that a session changed held before its first change, by their
// paths; nil is a file that was not there. Files that are not UTF-8 are left out.
func (w *Workspace) FirstContents(sessionID string) (map[string][]byte, error) {
	w.checkpoints.mu.Lock()
	defer w.checkpoints.mu.Unlock()
	out := map[string][]byte{}
	for _, cp := range w.log(sessionID).list {
		for _, f := range cp.Files {
			if _, known := out[f.Path]; known || f.Path == "" || len(f.Steps) == 0 {
				continue
			}
			first := f.Steps[0]
			if !slices.Contains([]edit.Encoding{"", edit.UTF8}, first.Encoding) {
				continue
			}
			text, err := w.content(first.Pre)
			if err != nil {
				return out, fmt.Errorf("reading what %s held: %w", f.Path, err)
			}
			if first.BOM && first.Pre != "" {
				text = append([]byte("\xEF\xBB\xBF"), text...)
			}
			if text == nil && first.Pre != "" {
				text = []byte{}
			}
			out[f.Path] = text
		}
	}
	return out, nil
}
