package policy

import (
	"context"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// TestAQuestionShowsTheWholeCall asks about a tool of an MCP server. The title must contain the
// arguments, because some clients show nothing else.
func TestAQuestionShowsTheWholeCall(t *testing.T) {
	arguments := `{"sql": "` + strings.Repeat("x", 5000) + `; DROP` + "\x1b[8m" + `"}`
	var asked []Question
	p := &scriptedUser{answer: func(_ context.Context, qs []Question) []Reply {
		asked = append(asked, qs...)
		return []Reply{{Cancelled: true}}
	}}
	e := newEngine(t, p, boxed, nil)
	e.Configure("s", Settings{})
	if _, err := e.Approve(t.Context(), tool.ApprovalRequest{
		SessionID: "s", Tool: tool.Spec{Name: "db_query"}, Effect: tool.Mutates,
		Subject: &tool.Subject{
			Kind: tool.SubjectMCP, Title: "Call query of the MCP server db", Name: "db_query",
			Origin: "db/query", Command: "db/query " + arguments,
		},
	}); err != nil {
		t.Fatal(err)
	}
	want := "Call query of the MCP server db: db/query " +
		strings.ReplaceAll(arguments, "\x1b", `\x1b`)
	if len(asked) != 1 || asked[0].Title != want {
		t.Errorf("got %+v, want the title %q", asked, want)
	}
}
