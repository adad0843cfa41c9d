package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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

// The images and the structured content of a result are bounded, because they are stored in the
// session and sent to the provider or the client.
func TestResultIsBounded(t *testing.T) {
	picture := func(kind string, size int) sdk.Content {
		return &sdk.ImageContent{MIMEType: kind, Data: make([]byte, size)}
	}
	large := result(&sdk.CallToolResult{
		Content: []sdk.Content{picture("image/png", maxImageBytes+1), picture("image/png", 9),
			picture("text/html", 9), &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
				URI: "x:y", MIMEType: "image/svg+xml", Blob: []byte("<svg/>")}}},
		StructuredContent: map[string]string{"a": strings.Repeat("x", maxDetails)},
	})
	if len(large.Content) != 1 || len(large.Content[0].Data) != 9 || large.Details != nil ||
		strings.Count(large.Text, "is not shown") != 3 {
		t.Errorf("%d images, %d bytes of details, %q", len(large.Content), len(large.Details),
			large.Text)
	}
	many := result(&sdk.CallToolResult{
		Content: slices.Repeat([]sdk.Content{picture("image/png", 9)}, maxImages+1)})
	if len(many.Content) != maxImages || strings.Count(many.Text, "is not shown") != 1 {
		t.Errorf("%d images, %q", len(many.Content), many.Text)
	}
	only := result(&sdk.CallToolResult{StructuredContent: strings.Repeat("x", maxDetails)})
	if only.Details != nil || len(only.Text) < maxDetails { // long texts are shortened later
		t.Errorf("%d bytes of details, %d of text", len(only.Details), len(only.Text))
	}
	small := result(&sdk.CallToolResult{StructuredContent: map[string]int{"a": 1}})
	if string(small.Details) != `{"a":1}` || small.Text != `{"a":1}` {
		t.Errorf("%q, %q", small.Details, small.Text)
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
