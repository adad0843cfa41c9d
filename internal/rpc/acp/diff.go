package acp

import (
	"os"
	"slices"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/textedit"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// maxDiff bounds the texts of all diffs of one call. Beyond it only file names are shown.
	maxDiff = 4 << 20
	// maxWhole bounds the text of a file that is shown completely.
	maxWhole = 128 << 10
)

// picture is a proposal with the texts for which its hunks were made. Its diffs are drawn from
// these texts, even if the files have changed since.
type picture struct {
	p     *wire.Proposal
	texts []*string // of each file; nil: not shown completely
}

// lacks reports whether a text is missing.
func (pic picture) lacks() bool { return slices.Contains(pic.texts, nil) }

// takePicture records the current texts of a proposal's files, as far as text returns them.
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

// known returns a file's text if the client has it, or the empty text of a new file. It does not
// block.
func (d *documents) known(f *wire.ProposalFile) (string, bool) {
	if text, ok := d.texts.Load(f.URI); ok {
		return text.(string), true
	}
	return "", f.Op == "create"
}

// looked is like known but also reads the file from disk.
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

// stands reports whether a text is the one for which the pending hunks of a file were made.
func stands(text string, f *wire.ProposalFile) bool {
	same, ok := render(text, f, func(h *wire.Hunk) string {
		if f.Placement == "applied" {
			return h.NewText
		}
		return h.OldText
	}, func(h *wire.Hunk) bool { return h.State == "pending" })
	return ok && same == text
}

// render replaces each hunk for which in returns true with the text that with returns.
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

// diffs returns diffs of the hunks for which in returns true. A file gets one diff of its whole
// text before and after, which is what the ACP means by a diff: clients show it with line numbers,
// and some show only the first diff of a call. If a file cannot be shown completely, each hunk is a
// diff.
func (pic picture) diffs(in func(*wire.Hunk) bool) []acp.ToolCallContent {
	var out []acp.ToolCallContent
	size := 0
	for i := range pic.p.Files {
		f := &pic.p.Files[i]
		for _, d := range pic.file(i, in) {
			if d.Diff != nil {
				size += len(d.Diff.NewText) + len(deref(d.Diff.OldText))
			}
			if size > maxDiff {
				return append(out, acp.ToolContent(acp.TextBlock(
					"The rest of the change is too long to show: "+pathOf(f.URI))))
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

// diffOf returns a diff of a file. It lists the hunks that it contains for agent-lsp's own plugins.
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

// decidedAs returns the picture after the hunks of the proposal were decided.
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
