package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

func hunk(id string, line uint32, old, new string) wire.Hunk {
	h := wire.Hunk{HunkID: id, OldText: old, NewText: new, State: "pending"}
	h.Range.Start.Line, h.Range.End.Line = line, line+uint32(strings.Count(old, "\n"))
	return h
}

// drawn formats diffs as "-OLD+NEW", and other content unchanged.
func drawn(content []acp.ToolCallContent) string {
	var out []string
	for _, c := range content {
		switch {
		case c.Diff == nil:
			out = append(out, c.Content.Content.Text.Text)
		case c.Diff.OldText == nil:
			out = append(out, "+"+c.Diff.NewText)
		default:
			out = append(out, "-"+*c.Diff.OldText+"+"+c.Diff.NewText)
		}
	}
	return strings.Join(out, "|")
}

// A file is shown as one diff of its whole text with the requested hunks. If the text has changed
// since the hunks were made, or is too long, each hunk is shown as its own diff.
func TestDiffsAreOfWholeFiles(t *testing.T) {
	dir := t.TempDir()
	uri := func(name string) string { return workspace.URIOfPath(filepath.Join(dir, name)) }
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "1\n2\n3\n")
	write("new", "A\n2\nC\n")
	write("long", strings.Repeat("x", content.MaxWhole)+"\n2\n")
	write("marked", "\ufeff1\n2\n3\n")
	docs := newDocuments(nil)
	docs.texts.Store(uri("unsaved"), "0\n1\n2\n3\n")
	hunks := []wire.Hunk{hunk("one", 0, "1\n", "A\n"), hunk("two", 2, "3\n", "C\n")}
	all := func(*wire.Hunk) bool { return true }
	second := func(h *wire.Hunk) bool { return h.HunkID == "two" }
	for _, tt := range []struct {
		name string
		file wire.ProposalFile
		in   func(*wire.Hunk) bool
		want string
	}{
		{"a file", wire.ProposalFile{URI: uri("a"), Hunks: hunks}, all, "-1\n2\n3\n+A\n2\nC\n"},
		{"one of its hunks", wire.ProposalFile{URI: uri("a"), Hunks: hunks}, second,
			"-1\n2\n3\n+1\n2\nC\n"},
		{"one that is changed already",
			wire.ProposalFile{URI: uri("new"), Placement: "applied", Hunks: hunks}, all,
			"-1\n2\n3\n+A\n2\nC\n"},
		{"no hunk", wire.ProposalFile{URI: uri("a"), Hunks: hunks},
			func(*wire.Hunk) bool { return false }, ""},
		{"another text", wire.ProposalFile{URI: uri("new"), Hunks: hunks}, all,
			"-1\n+A\n|-3\n+C\n"},
		{"the client's text", wire.ProposalFile{URI: uri("unsaved"),
			Hunks: []wire.Hunk{hunk("one", 1, "1\n", "A\n")}}, all, "-0\n1\n2\n3\n+0\nA\n2\n3\n"},
		{"a long file", wire.ProposalFile{URI: uri("long"),
			Hunks: []wire.Hunk{hunk("one", 1, "2\n", "B\n")}}, all, "-2\n+B\n"},
		{"a file with a mark", wire.ProposalFile{URI: uri("marked"), Hunks: hunks}, all,
			"-1\n+A\n|-3\n+C\n"},
		{"no file", wire.ProposalFile{URI: uri("none"), Hunks: hunks}, second, "-3\n+C\n"},
		{"a new file", wire.ProposalFile{Op: "create", URI: uri("none"),
			Hunks: []wire.Hunk{hunk("one", 0, "", "A\n")}}, all, "+A\n"},
		{"a file that goes", wire.ProposalFile{Op: "delete", URI: uri("a"),
			Hunks: []wire.Hunk{hunk("one", 0, "1\n2\n3\n", "")}}, all, "-1\n2\n3\n+"},
		{"another name", wire.ProposalFile{Op: "rename", URI: uri("a"), NewURI: uri("b"),
			Hunks: []wire.Hunk{hunk("one", 0, "", "")}}, all, "Rename " + filepath.Join(dir, "a") +
			" to " + filepath.Join(dir, "b")},
	} {
		pic := content.TakePicture(&wire.Proposal{Files: []wire.ProposalFile{tt.file}}, docs.looked)
		if got := drawn(pic.Diffs(tt.in)); got != tt.want {
			t.Errorf("%s: %.200q, not %.200q", tt.name, got, tt.want)
		}
	}
}

// The final diff shows the edits that were applied, even if the file has changed since then.
func TestDiffsOfWhatWasDecided(t *testing.T) {
	docs := newDocuments(nil)
	docs.texts.Store("file:///a", "1\n2\n3\n")
	file := wire.ProposalFile{URI: "file:///a",
		Hunks: []wire.Hunk{hunk("one", 0, "1\n", "A\n"), hunk("two", 2, "3\n", "C\n")}}
	pic := content.TakePicture(&wire.Proposal{Files: []wire.ProposalFile{file}}, docs.known)
	docs.texts.Store("file:///a", "1\n2\nmine\n")
	file.Hunks = []wire.Hunk{file.Hunks[0], hunk("two", 5, "", "mine\n")}
	file.Hunks[0].State, file.Hunks[1].State = "rejected", "accepted"
	decided := pic.DecidedAs(&wire.Proposal{Files: []wire.ProposalFile{file}})
	accepted := func(h *wire.Hunk) bool { return h.State == "accepted" }
	if got := drawn(decided.Diffs(accepted)); got != "-1\n2\n3\n+1\n2\nmine\n" {
		t.Errorf("%q", got)
	}
	if pic.Proposal.Files[0].Hunks[0].State != "pending" {
		t.Error("the picture itself has changed")
	}
}

func TestDiffsAreBounded(t *testing.T) {
	p := &wire.Proposal{}
	for range 5 {
		p.Files = append(p.Files, wire.ProposalFile{URI: "file:///none/a",
			Hunks: []wire.Hunk{hunk("h", 0, "", strings.Repeat("x", 1<<20))}})
	}
	got := content.TakePicture(p, newDocuments(nil).looked).Diffs(isPending)
	if len(got) != 5 || got[4].Content == nil ||
		!strings.Contains(got[4].Content.Content.Text.Text, "too long to show") {
		t.Errorf("%d pieces", len(got))
	}
}

// Some clients show one button per kind of option and use the first or the last option of that
// kind. Even then, the user cannot accept more than the client may have shown.
func TestOptionsForClientsWithOneButtonAKind(t *testing.T) {
	p := &wire.Proposal{Title: "Edit", Files: []wire.ProposalFile{
		{URI: "file:///a", Hunks: []wire.Hunk{hunk("a1", 0, "", "x"), hunk("a2", 4, "", "x")}},
		{URI: "file:///b", Hunks: []wire.Hunk{hunk("b1", 9, "", "x")}}}}
	last := func(q question, kind acp.PermissionOptionKind) (id string) {
		for _, o := range reviewOptions(q) {
			if o.Kind == kind {
				id = string(o.OptionId)
			}
		}
		return id
	}
	for _, tt := range []struct {
		name, hunks, title, allow, always, reject, fourth string
		by                                                grain
		rest                                              bool
	}{
		{"all", "a1 a2 b1", "Edit", "each_file", "accept_always", "reject", "", grain{}, false},
		{"a file", "a1 a2", "Edit: a:1", "accept", "accept_always", "reject", "each_hunk",
			grain{files: true}, true},
		{"a hunk", "a1", "Edit: a:1", "accept", "accept_always", "reject", "",
			grain{files: true, hunks: "file:///a"}, true},
	} {
		q := questionOf(p, tt.by)
		if strings.Join(q.hunks, " ") != tt.hunks || q.title != tt.title || q.rest != tt.rest {
			t.Errorf("%s: %+v", tt.name, q)
		}
		got := []string{last(q, acp.PermissionOptionKindAllowOnce),
			last(q, acp.PermissionOptionKindAllowAlways),
			last(q, acp.PermissionOptionKindRejectOnce),
			last(q, acp.PermissionOptionKindRejectAlways)}
		if strings.Join(got, " ") != strings.Join([]string{tt.allow, tt.always, tt.reject,
			tt.fourth}, " ") {
			t.Errorf("%s: %q", tt.name, got)
		}
		if first := reviewOptions(q)[0]; first.OptionId != acceptIt ||
			first.Kind != acp.PermissionOptionKindAllowOnce {
			t.Errorf("%s: the first is %+v", tt.name, first)
		}
	}
}
