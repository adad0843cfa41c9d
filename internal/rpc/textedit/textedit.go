// Package textedit applies the text edits of workspace/applyEdit for the in-process clients: the
// ACP front end, `run` and `demo`. These clients store text as strings and always use UTF-8
// positions.
package textedit

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Edit is LSP's TextEdit with UTF-8 positions.
type Edit struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	NewText string
}

// Change contains the edits of one document. Version is the version to which they apply, or nil for
// any version. A change of the kind "create" creates a file. The next change with the same URI
// contains its text.
type Change struct {
	Kind, URI    string
	TextDocument struct {
		URI     string
		Version *int32
	}
	Edits []Edit
}

// Stale is the failureReason for a document that can no longer be edited.
const Stale = "the document is closed or has changed"

// Changes decodes the parameters of workspace/applyEdit.
func Changes(params json.RawMessage) ([]Change, error) {
	var p struct {
		Edit struct{ DocumentChanges []Change }
	}
	err := json.Unmarshal(params, &p)
	return p.Edit.DocumentChanges, err
}

// Applied returns the result of workspace/applyEdit: success, or the reason for the failure.
func Applied(failure string) map[string]any {
	if failure == "" {
		return map[string]any{"applied": true}
	}
	return map[string]any{"applied": false, "failureReason": failure}
}

// Apply applies all edits to text. It fails if they overlap.
func Apply(text string, edits []Edit) (string, error) {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	offset := func(line, char int) int {
		if line >= len(starts) {
			return len(text)
		}
		return min(starts[line]+char, len(text))
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(x, y Edit) int {
		return offset(x.Range.Start.Line, x.Range.Start.Character) - offset(y.Range.Start.Line,
			y.Range.Start.Character)
	})
	var out strings.Builder
	last := 0
	for _, e := range edits {
		from, to := offset(e.Range.Start.Line, e.Range.Start.Character),
			offset(e.Range.End.Line, e.Range.End.Character)
		if from < last || to < from {
			return "", errors.New("the edits overlap")
		}
		out.WriteString(text[last:from])
		out.WriteString(e.NewText)
		last = to
	}
	out.WriteString(text[last:])
	return out.String(), nil
}
