// Package content converts between the structs of package wire and those of the Agent Client
// Protocol: prompt blocks, tool calls with their results, and proposal diffs.
//
// The functions are pure. They do not depend on a connection or a session.
package content

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// Prompt converts ACP content to content blocks of package wire.
func Prompt(blocks []acp.ContentBlock) (wire.Prompt, error) {
	if len(blocks) == 0 {
		return nil, fmt.Errorf("prompt: is empty")
	}
	out := make(wire.Prompt, 0, len(blocks))
	for i, b := range blocks {
		block, err := promptBlock(b)
		if err != nil {
			return nil, fmt.Errorf("prompt[%d]: %v", i, err)
		}
		out = append(out, block)
	}
	return out, nil
}

func promptBlock(b acp.ContentBlock) (wire.ContentBlock, error) {
	switch {
	case b.Text != nil:
		return wire.ContentBlock{Type: "text", Text: b.Text.Text}, nil
	case b.Image != nil:
		data, err := base64.StdEncoding.DecodeString(b.Image.Data)
		if err != nil {
			return wire.ContentBlock{}, fmt.Errorf("the image's data is not base64")
		}
		out := wire.ContentBlock{Type: "image", MimeType: b.Image.MimeType, Data: data}
		if len(data) == 0 && b.Image.Uri != nil && onTheWeb(*b.Image.Uri) {
			out.URL = *b.Image.Uri
		}
		return out, nil
	case b.ResourceLink != nil:
		if onTheWeb(b.ResourceLink.Uri) {
			return wire.ContentBlock{Type: "text", Text: b.ResourceLink.Name + ": " +
				b.ResourceLink.Uri}, nil
		}
		return resource(b.ResourceLink.Uri, ""), nil
	case b.Resource != nil:
		return embedded(b.Resource.Resource)
	}
	return wire.ContentBlock{}, errors.New("only text, images, links and embedded resources can be read (see promptCapabilities)")
}

func embedded(r acp.EmbeddedResourceResource) (wire.ContentBlock, error) {
	if t := r.TextResourceContents; t != nil {
		// If the text were empty, the file's content would be used instead.
		return resource(t.Uri, cmp.Or(t.Text, "(empty)")), nil
	}
	blob := r.BlobResourceContents
	if blob == nil {
		return wire.ContentBlock{}, errors.New("the resource has neither text nor blob")
	}
	data, err := base64.StdEncoding.DecodeString(blob.Blob)
	if err != nil {
		return wire.ContentBlock{}, errors.New("the resource's blob is not base64")
	}
	mime := "application/octet-stream"
	if blob.MimeType != nil {
		mime = *blob.MimeType
	}
	if strings.HasPrefix(mime, "image/") {
		return wire.ContentBlock{Type: "image", MimeType: mime, Data: data}, nil
	}
	// The URI shows whether the file is secret.
	return wire.ContentBlock{Type: "file", Name: path.Base(blob.Uri), URI: blob.Uri,
		MimeType: mime, Data: data}, nil
}

func onTheWeb(uri string) bool {
	return strings.HasPrefix(uri, "http:") || strings.HasPrefix(uri, "https:")
}

// lines matches the suffixes with which clients append lines to a file URI, starting at 1:
// file:///a.go#L10, #L10:20, #L10-L20, and ?symbol=Name#L10:20.
var lines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(file:[^#?]*)(?:\?symbol=[^#]*)?#L(\d+)(?:[:-]L?(\d+))?$`)
})

// resource returns a block for a file or some of its lines. If text is empty, the file is read.
func resource(uri, text string) wire.ContentBlock {
	out := wire.ContentBlock{Type: "resource", URI: uri, Text: text}
	m := lines().FindStringSubmatch(uri)
	if m == nil {
		return out
	}
	first, err := strconv.ParseUint(m[2], 10, 31)
	last, lastErr := strconv.ParseUint(cmp.Or(m[3], m[2]), 10, 31)
	if err != nil || lastErr != nil || first < 1 || last < first {
		return out
	}
	out.URI = m[1]
	out.Range = &wire.Range{Start: wire.Position{Line: uint32(first) - 1},
		End: wire.Position{Line: uint32(last)}}
	return out
}
