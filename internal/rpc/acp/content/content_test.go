package content

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

func TestPromptBlocks(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("png"))
	mime := "image/png"
	got, err := Prompt([]acp.ContentBlock{
		acp.TextBlock("look"), acp.ImageBlock(png, mime),
		acp.ResourceLinkBlock("a.go", "file:///a.go"), acp.ResourceLinkBlock("page", "https://x/"),
		acp.ResourceBlock(acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{Uri: "zed:///thread", Text: "said"}}),
		acp.ResourceBlock(acp.EmbeddedResourceResource{BlobResourceContents: &acp.BlobResourceContents{Uri: "file:///x/doc.pdf", Blob: png}}),
		acp.ResourceBlock(acp.EmbeddedResourceResource{BlobResourceContents: &acp.BlobResourceContents{Uri: "file:///x.png", Blob: png, MimeType: &mime}}),
	})
	want := wire.Prompt{{Type: "text", Text: "look"},
		{Type: "image", MimeType: mime, Data: []byte("png")},
		{Type: "resource", URI: "file:///a.go"},
		{Type: "text", Text: "page: https://x/"},
		{Type: "resource", URI: "zed:///thread", Text: "said"},
		{Type: "file", Name: "doc.pdf", URI: "file:///x/doc.pdf",
			MimeType: "application/octet-stream", Data: []byte("png")},
		{Type: "image", MimeType: mime, Data: []byte("png")}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][]acp.ContentBlock{nil, {acp.AudioBlock("AA==", "audio/wav")},
		{acp.ImageBlock("no base64!", mime)}} {
		if _, err := Prompt(bad); err == nil || !strings.Contains(err.Error(), "prompt") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Editors append line numbers to a file URI as a fragment. A fragment in any other format is part
// of the file name.
func TestLinesOfAFile(t *testing.T) {
	at := func(first, last uint32) *wire.Range {
		return &wire.Range{Start: wire.Position{Line: first}, End: wire.Position{Line: last}}
	}
	for uri, want := range map[string]wire.ContentBlock{
		"file:///a.go":                 {URI: "file:///a.go"},
		"file:///a.go#L2":              {URI: "file:///a.go", Range: at(1, 2)},
		"file:///a.go#L2:3":            {URI: "file:///a.go", Range: at(1, 3)},
		"file:///a.go#L2-3":            {URI: "file:///a.go", Range: at(1, 3)},
		"file:///a.go#L2-L3":           {URI: "file:///a.go", Range: at(1, 3)},
		"file:///a.go?symbol=Foo#L2:3": {URI: "file:///a.go", Range: at(1, 3)},
		"file:///a.go#L0":              {URI: "file:///a.go#L0"},
		"file:///a.go#L3:2":            {URI: "file:///a.go#L3:2"},
		"file:///a.go#L99999999999":    {URI: "file:///a.go#L99999999999"},
		"file:///c#/Lib.cs":            {URI: "file:///c#/Lib.cs"},
		"file:///what?.go":             {URI: "file:///what?.go"},
		"zed:///thread#L2":             {URI: "zed:///thread#L2"},
	} {
		want.Type = "resource"
		if got := resource(uri, ""); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", uri, got)
		}
	}
	text := "no lines" // an embedded text, even if empty, is not replaced by the file's content
	for _, c := range []struct{ given, want string }{{text, text}, {"", "(empty)"}} {
		got, err := Prompt([]acp.ContentBlock{acp.ResourceBlock(acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{Uri: "file:///a.go#L2", Text: c.given}})})
		if err != nil || got[0].Text != c.want || got[0].URI != "file:///a.go" ||
			got[0].Range == nil {
			t.Errorf("%q: %+v, %v", c.given, got, err)
		}
	}
	// Only URLs of web pages are accepted. This package does not request them.
	away := acp.ImageBlock("", "image/png")
	for uri, want := range map[string]string{"https://x/a.png": "https://x/a.png",
		"file:///etc/passwd": ""} {
		away.Image.Uri = &uri
		if got, err := Prompt([]acp.ContentBlock{away}); err != nil || got[0].URL != want {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
}

// Clients choose the icon of a tool call by its kind, so every documented tool has one. A call of
// an unknown tool has the kind "other", and the kind "edit" once it has proposed an edit.
func TestEveryToolHasAKind(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "reference", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")
	rows := row.FindAllSubmatch(page, -1)
	if len(rows) < 10 {
		t.Fatalf("%d tools are documented", len(rows))
	}
	for _, row := range rows {
		if _, ok := kinds[string(row[1])]; !ok {
			t.Errorf("%s has none", row[1])
		}
	}
	for item, want := range map[*wire.Item]acp.ToolKind{
		{Name: "new"}:                  acp.ToolKindOther,
		{Name: "new", ProposalID: "p"}: acp.ToolKindEdit,
		{Name: "ls", ProposalID: "p"}:  acp.ToolKindRead,
	} {
		if got := kindOf(item); got != want {
			t.Errorf("%+v is shown as %s, not %s", item, got, want)
		}
	}
}
