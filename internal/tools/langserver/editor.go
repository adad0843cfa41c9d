package langserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/pause"
)

// Waiting times for an editor.
const (
	// beforeShare is the divisor of the waiting time in Options.AfterEdit. Before an edit, the
	// editor has this fraction of the time to report its current diagnostics.
	beforeShare = 6
	// answerTime is the extra time that an editor gets for its response, in addition to the time
	// that it waits for its servers.
	answerTime = 300 * time.Millisecond
)

// editorPauses contains the pauses between repeated questions to an editor that cannot report which
// text its diagnostics belong to. The questions end when there are new diagnostics.
var editorPauses = [...]time.Duration{50 * time.Millisecond, 150 * time.Millisecond,
	300 * time.Millisecond, 500 * time.Millisecond}

// spoken reports whether an editor's servers have reported diagnostics for the current text, if the
// editor knows that.
type spoken int

const (
	untold spoken = iota // the editor cannot report this
	unsettled
	settled
)

func spokenOf(word *bool) spoken {
	switch {
	case word == nil:
		return untold
	case *word:
		return settled
	}
	return unsettled
}

// editorFile asks the editor for the diagnostics of one file. The editor waits up to
// diagnosticsWait for its servers to process the file's text.
func (h *Hub) editorFile(ctx context.Context, uri string) ([]diagnostic, answer, spoken, error) {
	a, err := h.askEditor(ctx, Question{Operation: opDiagnostics, URI: uri,
		Settle: &Settle{[]string{uri}, diagnosticsWait}})
	if err != nil {
		return nil, a, untold, err
	}
	var report struct {
		Items   []diagnostic
		Settled *bool
	}
	if json.Unmarshal(a.raw, &report.Items) != nil { // the answer is not a bare list
		_ = json.Unmarshal(a.raw, &report)
	}
	return report.Items, a, spokenOf(report.Settled), nil
}

// editorAll asks the editor for all the diagnostics that it shows. Unless settle.Timeout is 0, the
// editor first waits for its servers' diagnostics of the documents in settle.
func (h *Hub) editorAll(ctx context.Context,
	settle Settle) (map[string][]diagnostic, answer, spoken, error) {
	a, err := h.askEditor(ctx, Question{Operation: opDiagnostics, Settle: &settle})
	if err != nil {
		return nil, a, untold, err
	}
	var word struct{ Settled *bool }
	_ = json.Unmarshal(a.raw, &word)
	return decodeAll(a.raw), a, spokenOf(word.Settled), nil
}

// decodeAll decodes {uri: Diagnostic[]}. It ignores values that are not lists, such as Lua's empty
// table.
func decodeAll(raw json.RawMessage) map[string][]diagnostic {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(raw, &m)
	all := map[string][]diagnostic{}
	for u, list := range m {
		var items []diagnostic
		if strings.Contains(u, ":") && json.Unmarshal(list, &items) == nil {
			all[u] = items
		}
	}
	return all
}

func countAll(all map[string][]diagnostic) Shown {
	out := Shown{}
	for u, items := range all {
		for _, d := range items {
			if d.level() <= 2 {
				out[d.key(pathOfURI(u))]++
			}
		}
	}
	return out
}

// Shown counts the errors and warnings that an editor shows before an edit. nil means that they are
// unknown.
type Shown map[string]int

// BeforeEdit counts the errors and warnings that the editor shows before an edit is applied. It
// waits only briefly, and returns nil if it gets no answer.
func (h *Hub) BeforeEdit(ctx context.Context) Shown {
	if h.opt.Query == nil || h.opt.AfterEdit == nil {
		return nil
	}
	on, wait := h.opt.AfterEdit()
	if !on {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, wait/beforeShare)
	defer stop()
	all, _, _, err := h.editorAll(ctx, Settle{})
	if err != nil {
		return nil
	}
	return countAll(all)
}

// afterEditor describes the new diagnostics that the editor shows after its servers have processed
// the edited files.
func (h *Hub) afterEditor(ctx context.Context, paths []string, before Shown,
	wait time.Duration) string {
	var uris []string
	for _, p := range paths {
		if ref, err := h.opt.Workspace.Resolve("", p); err == nil {
			uris = append(uris, ref.URI)
		}
	}
	if before == nil || len(uris) == 0 {
		return ""
	}
	all, a, word, err := h.editorAll(ctx, Settle{uris, max(wait-answerTime, wait/2)})
	switch {
	case errors.Is(err, errNotReady):
		return fmt.Sprintf("diagnostics: the editor has not answered within %v; the problems that this edit causes are not known; ask lsp diagnostics later", wait)
	case err != nil:
		return ""
	case word == untold:
		return h.pollEditor(ctx, uris[0], before)
	}
	text := h.news(context.WithoutCancel(ctx), all, before, a.enc, a.from)
	if word == unsettled {
		text += "diagnostics: the editor's language servers have not reported on this text yet; ask lsp diagnostics later"
	}
	return strings.TrimRight(text, "\n")
}

// pollEditor repeatedly asks an editor for its diagnostics if the editor cannot report which text
// they belong to. It first asks a question about the edited file. An answer shows that the editor's
// server has the text. If no server answers, pollEditor does not wait.
func (h *Hub) pollEditor(ctx context.Context, uri string, before map[string]int) string {
	if _, err := h.askEditor(ctx, Question{Operation: opDocumentSymbol, URI: uri}); err != nil {
		return ""
	}
	for _, d := range editorPauses {
		if pause.For(ctx, d) != nil {
			return ""
		}
		all, a, _, err := h.editorAll(ctx, Settle{})
		if err != nil {
			return ""
		}
		if text := h.news(ctx, all, before, a.enc, a.from); text != "" {
			return strings.TrimRight(text, "\n")
		}
	}
	return ""
}
