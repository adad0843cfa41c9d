package acp

import (
	"errors"
	"slices"
	"strings"
)

// textEdit is LSP's, in UTF-8 positions, which we always negotiate with the core.
type textEdit struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	NewText string
}

// applyEdits makes all edits against the text as it stands.
func applyEdits(text string, edits []textEdit) (string, error) {
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
	slices.SortStableFunc(edits, func(x, y textEdit) int {
		return offset(x.Range.Start.Line, x.Range.Start.Character) - offset(y.Range.Start.Line, y.Range.Start.Character)
	})
	var out strings.Builder
	last := 0
	for _, e := range edits {
		from, to := offset(e.Range.Start.Line, e.Range.Start.Character), offset(e.Range.End.Line, e.Range.End.Character)
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
