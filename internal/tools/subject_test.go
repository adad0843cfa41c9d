package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// The title of a question contains the complete URL or the complete file names.
func TestSubjectsAreNotCut(t *testing.T) {
	address := "https://example.org/?" + strings.Repeat("a", 500) + "&end"
	if s := networkSubject("Fetch "+address, address); s.Title != "Fetch "+address {
		t.Errorf("got %q", s.Title)
	}
	name := strings.Repeat("a", 200) + "/end"
	if s := (paths{{path: name}}).subject(tool.SubjectRead, "Read"); s.Title != "Read "+name {
		t.Errorf("got %q", s.Title)
	}
}

// The subject names the resolved file, even if no folder contains it and it is only open in the
// editor. Otherwise, the spelling of a path could decide whether the user is asked.
func TestSubjectsNameTheResolvedFile(t *testing.T) {
	ps := paths{{path: "file:/home/u/%2Eenv", ref: workspace.Ref{Path: "/home/u/.env"}}}
	if s := ps.subject(tool.SubjectRead, "Read"); !slices.Equal(s.Paths, []string{"/home/u/.env"}) {
		t.Errorf("got %q", s.Paths)
	}
}
