package acp

import (
	"os"
	"slices"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/textedit"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// maxDiff bounds the texts of all diffs of one call; beyond it only names are shown.
	maxDiff = 4 << 20
	// maxWhole bounds the text of a file that is shown as a whole.
	maxWhole = 128 << 10
)

// picture is a proposal with the texts that its hunks were made for: what its diffs are drawn from,
// also when the files have been changed.
type picture struct {
	p     *wire.Proposal
	texts []*string // of each file; nil: not to be shown as a whole
}

// lacks says that a text is missing.
func (pic picture) lacks() bool { return slices.Contains(pic.texts, nil) }

// takePicture takes the texts of a proposal's files as they stand, where text has them.
func takePicture(p *wire.Proposal, text func(*wire.ProposalFile) (string, bool)) picture {
	out := picture{p: p, texts: make([]*string, len(p.Files))}
	for i := range p.Files {
		f := &p.Files[i]
		if text, ok := text(f); ok && f.Op != "rename" && len(text) <= maxWhole && stands(text, f) {
			out.texts[i] = &text
		}
	}
	return out
}

// known is a file's text where the client has it, or where it is to be made. It waits for nothing.
func (d *documents) known(f *wire.ProposalFile) (string, bool) {
	if text, ok := d.texts.Load(f.URI); ok {
		return text.(string), true
	}
	return "", f.Op == "create"
}

// looked is also that of a file on the disk.
func (d *documents) looked(f *wire.ProposalFile) (string, bool) {
	if text, ok := d.known(f); ok {
		return text, true
	}
	info, err := os.Stat(pathOf(f.URI))
	if err != nil {
		return "", false
	}
	if !info.Mode().IsRegular() || info.Size() > maxWhole {
		return "", false
	}
	data, err := os.ReadFile(pathOf(f.URI))
	return string(data), err == nil && plain(data)
}

// stands says whether a text is the one that the pending hunks of a file were made for.
func stands(text string, f *wire.ProposalFile) bool {
	same, ok := render(text, f, func(h *wire.Hunk) string {
		if f.Placement == "applied" {
			return h.NewText
		}
		return h.OldText
	}, func(h *wire.Hunk) bool { return h.State == "pending" })
	return ok && same == text
}

// render puts a text of each hunk that is in into its place.
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

// diffs shows what the hunks that are in do: one diff a file, of its whole text before and after,
// which is what the ACP calls a diff. Clients draw it with its lines and their numbers, and some of
// them draw only the first diff of a call. Where the whole cannot be shown, each hunk is a diff of
// its own.
func (pic picture) diffs(in func(*wire.Hunk) bool) []acp.ToolCallContent {
	var out []acp.ToolCallContent
	size := 0
	for i := range pic.p.Files {
		f := &pic.p.Files[i]
		for _, d := range pic.file(i, in) {
			if d.Diff != nil {
				size += len(d.Diff.NewText) + len(orDefault(deref(d.Diff.OldText), ""))
			}
			if size > maxDiff {
				return append(out, acp.ToolContent(acp.TextBlock("The rest of the change is too long to show: "+pathOf(f.URI))))
			}
			out = append(out, d)
		}
	}
	return out
}

func (pic picture) file(i int, in func(*wire.Hunk) bool) []acp.ToolCallContent {
	f := &pic.p.Files[i]
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
		return []acp.ToolCallContent{acp.ToolContent(acp.TextBlock("Rename " + pathOf(f.URI) +
			" to " + pathOf(f.NewURI)))}
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

// diffOf is a diff of a file; our own plugins are told which hunks it shows.
func diffOf(f *wire.ProposalFile, before, after string, hunks ...*wire.Hunk) acp.ToolCallContent {
	d := acp.ToolDiffContent(pathOf(f.URI), after, before)
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

// decidedAs is the picture of a proposal once its hunks are decided.
func (pic picture) decidedAs(p *wire.Proposal) picture {
	now := map[string]*wire.Hunk{}
	for i := range p.Files {
		for j := range p.Files[i].Hunks {
			now[p.Files[i].Hunks[j].HunkID] = &p.Files[i].Hunks[j]
		}
	}
	as := *pic.p
	as.Files = nil
	for _, f := range pic.p.Files {
		hunks := append([]wire.Hunk(nil), f.Hunks...)
		for j := range hunks {
			if h := now[hunks[j].HunkID]; h != nil {
				hunks[j].State, hunks[j].NewText = h.State, h.NewText
			}
		}
		f.Hunks = hunks
		as.Files = append(as.Files, f)
	}
	return picture{p: &as, texts: pic.texts}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
