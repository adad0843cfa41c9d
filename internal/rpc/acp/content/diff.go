package content

import (
	"slices"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/textedit"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

const (
	// maxDiff bounds the total size of the texts in all diffs of one call. Above this limit, only
	// file names are shown.
	maxDiff = 4 << 20
	// MaxWhole bounds the size of a file that is shown completely.
	MaxWhole = 128 << 10
)

// Picture is a proposal with the texts to which its hunks refer. Its diffs are computed from these
// texts, even if the files have changed since.
type Picture struct {
	Proposal *wire.Proposal
	texts    []*string // text of each file; nil if the file is not shown completely
}

// Lacks reports whether the text of a file is missing.
func (pic Picture) Lacks() bool { return slices.Contains(pic.texts, nil) }

// TakePicture records the current texts of a proposal's files. The function text returns the text
// of a file, or false if the text is not available.
func TakePicture(p *wire.Proposal, text func(*wire.ProposalFile) (string, bool)) Picture {
	out := Picture{Proposal: p, texts: make([]*string, len(p.Files))}
	for i := range p.Files {
		f := &p.Files[i]
		if text, ok := text(f); ok && f.Op != "rename" && len(text) <= MaxWhole && stands(text, f) {
			out.texts[i] = &text
		}
	}
	return out
}

// stands reports whether the pending hunks of a file refer to this text.
func stands(text string, f *wire.ProposalFile) bool {
	same, ok := render(text, f, func(h *wire.Hunk) string {
		if f.Placement == "applied" {
			return h.NewText
		}
		return h.OldText
	}, func(h *wire.Hunk) bool { return h.State == "pending" })
	return ok && same == text
}

// render replaces the hunks for which in returns true. with returns the replacement for a hunk.
func render(text string, f *wire.ProposalFile, with func(*wire.Hunk) string,
	in func(*wire.Hunk) bool) (string, bool) {
	var edits []textedit.Edit
	for i := range f.Hunks {
		h := &f.Hunks[i]
		if !in(h) {
			continue
		}
		e := textedit.Edit{NewText: with(h)}
		e.Range.Start.Line, e.Range.Start.Character = int(h.Range.Start.Line),
			int(h.Range.Start.Character)
		e.Range.End.Line, e.Range.End.Character = int(h.Range.End.Line), int(h.Range.End.Character)
		edits = append(edits, e)
	}
	out, err := textedit.Apply(text, edits)
	return out, err == nil
}

// Diffs returns diffs of the hunks for which in returns true. Each file gets one diff with its
// whole text before and after the change, as the ACP requires. Clients show it with line numbers,
// and some show only the first diff of a call. If a file cannot be shown completely, each hunk is a
// separate diff.
func (pic Picture) Diffs(in func(*wire.Hunk) bool) []acp.ToolCallContent {
	var out []acp.ToolCallContent
	size := 0
	for i := range pic.Proposal.Files {
		f := &pic.Proposal.Files[i]
		for _, d := range pic.file(i, in) {
			if d.Diff != nil {
				size += len(d.Diff.NewText) + len(deref(d.Diff.OldText))
			}
			if size > maxDiff {
				return append(out, acp.ToolContent(acp.TextBlock(
					"The rest of the change is too long to show: "+PathOf(f.URI))))
			}
			out = append(out, d)
		}
	}
	return out
}

func (pic Picture) file(i int, in func(*wire.Hunk) bool) []acp.ToolCallContent {
	f := &pic.Proposal.Files[i]
	var hunks []*wire.Hunk
	for j := range f.Hunks {
		if in(&f.Hunks[j]) {
			hunks = append(hunks, &f.Hunks[j])
		}
	}
	switch {
	case len(hunks) == 0:
		return nil
	case f.Op == "rename":
		return []acp.ToolCallContent{acp.ToolContent(acp.TextBlock("Rename " + PathOf(f.URI) +
			" to " + PathOf(f.NewURI)))}
	case pic.texts[i] != nil:
		before, ok := render(*pic.texts[i], f, func(h *wire.Hunk) string { return h.OldText }, in)
		after, ok2 := render(*pic.texts[i], f, func(h *wire.Hunk) string { return h.NewText }, in)
		if ok && ok2 {
			return []acp.ToolCallContent{diffOf(f, before, after, hunks...)}
		}
	}
	var out []acp.ToolCallContent
	for _, h := range hunks {
		out = append(out, diffOf(f, h.OldText, h.NewText, h))
	}
	return out
}

// diffOf returns a diff of a file. For agent-lsp's own plugins, it also contains the operation and
// the given hunks.
func diffOf(f *wire.ProposalFile, before, after string, hunks ...*wire.Hunk) acp.ToolCallContent {
	d := acp.ToolDiffContent(PathOf(f.URI), after, before)
	if f.Op == "create" {
		d.Diff.OldText = nil
	}
	list := make([]any, 0, len(hunks))
	for _, h := range hunks {
		list = append(list, map[string]any{"hunkId": h.HunkID, "state": h.State,
			"line": h.Range.Start.Line + 1})
	}
	d.Diff.Meta = map[string]any{"agentLsp": map[string]any{"op": f.Op, "hunks": list}}
	return d
}

// DecidedAs returns the picture after the hunks of the proposal were decided.
func (pic Picture) DecidedAs(p *wire.Proposal) Picture {
	now := map[string]*wire.Hunk{}
	for i := range p.Files {
		for j := range p.Files[i].Hunks {
			now[p.Files[i].Hunks[j].HunkID] = &p.Files[i].Hunks[j]
		}
	}
	as := *pic.Proposal
	as.Files = nil
	for _, f := range pic.Proposal.Files {
		hunks := append([]wire.Hunk(nil), f.Hunks...)
		for j := range hunks {
			if h := now[hunks[j].HunkID]; h != nil {
				hunks[j].State, hunks[j].NewText = h.State, h.NewText
			}
		}
		f.Hunks = hunks
		as.Files = append(as.Files, f)
	}
	return Picture{Proposal: &as, texts: pic.texts}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Places returns the location of the first hunk of each file that a proposal changes.
func Places(p *wire.Proposal) []acp.ToolCallLocation {
	var out []acp.ToolCallLocation
	for _, f := range p.Files {
		if path := PathOf(f.URI); path != "" && len(f.Hunks) > 0 {
			out = append(out, acp.ToolCallLocation{Path: path,
				Line: acp.Ptr(int(f.Hunks[0].Range.Start.Line) + 1)})
		}
	}
	return out
}

// PathOf returns the path of a file URI, or "" for any other URI.
func PathOf(uri string) string {
	path, _ := workspace.PathOfURI(uri)
	return path
}
