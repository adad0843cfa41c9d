package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// The question about a call contains the server, the tool and all arguments.
func TestTheSubjectIsTheWholeCall(t *testing.T) {
	arguments := `{"sql": "` + strings.Repeat("x", 5000) + `; DROP"}`
	query := &serverTool{server: &server{conf: Config{Name: "db"}}, remote: "query"}
	p, err := query.Prepare(t.Context(), &tool.Call{Args: json.RawMessage(arguments)})
	if err != nil || p.Subject.Command != "db/query "+arguments {
		t.Errorf("%v, got %q", err, p.Subject.Command)
	}
}

// Reading a resource is a request with a URI that the model chooses, so it needs permission like a
// call of a tool.
func TestResourcesNeedPermission(t *testing.T) {
	r := newResources(&server{conf: Config{Name: "db"}})
	for args, want := range map[string]string{
		`{}`: "db/resources", `{"uri": "mem://x"}`: "db/resources mem://x",
	} {
		p, err := r.Prepare(t.Context(), &tool.Call{Args: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		s := p.Subject
		if s == nil || s.Kind != tool.SubjectMCP || s.Name != "db_resources" ||
			s.Origin != "db/resources" || s.Command != want {
			t.Errorf("%s: %+v", args, s)
		}
	}
}

// A server must not move the connection to an address without encryption.
func TestRedirectsStayEncrypted(t *testing.T) {
	for to, ok := range map[string]bool{"https://a.example/x": true, "http://a.example/x": false} {
		r, err := http.NewRequest(http.MethodPost, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameHost("https://a.example/")(r, nil); (err == nil) != ok {
			t.Errorf("%s: %v", to, err)
		}
	}
}
