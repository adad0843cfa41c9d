package tools

import (
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
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
