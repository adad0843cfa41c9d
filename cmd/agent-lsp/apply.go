package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
)

// lspRange is a range in UTF-8 positions, which the built-in client always negotiates.
type lspRange struct {
	Start struct{ Line, Character int }
	End   struct{ Line, Character int }
}

type textEdit struct {
	Range   lspRange
	NewText string
}

// applyEdit carries out workspace/applyEdit on open documents and tells the daemon of each change.
func (c *client) applyEdit(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Edit struct {
			DocumentChanges []struct {
				TextDocument struct {
					URI     string
					Version *int32
				}
				Edits []textEdit
			}
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range p.Edit.DocumentChanges {
		d := c.docs[ch.TextDocument.URI]
		if d == nil || ch.TextDocument.Version != nil && *ch.TextDocument.Version != d.version {
			return map[string]any{"applied": false, "failureReason": "the document is closed or has changed"}, nil
		}
		text, err := applyTextEdits(d.text, ch.Edits)
		if err != nil {
			return map[string]any{"applied": false, "failureReason": err.Error()}, nil
		}
		d.text, d.version = text, d.version+1
		err = c.conn.Notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": ch.TextDocument.URI, "version": d.version},
			"contentChanges": []any{map[string]any{"text": text}}})
		if err != nil {
			return nil, err
		}
	}
	return map[string]any{"applied": true}, nil
}

// applyTextEdits makes all edits against the text as it stands.
func applyTextEdits(text string, edits []textEdit) (string, error) {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	offset := func(line, char int) int {
		if line >= len(starts) {
			return len(text)
		}
		return min(starts[line]+char, len(text))
	}
	sort.SliceStable(edits, func(i, j int) bool {
		a, b := edits[i].Range.Start, edits[j].Range.Start
		return offset(a.Line, a.Character) < offset(b.Line, b.Character)
	})
	var out strings.Builder
	last := 0
	for _, e := range edits {
		s, t := offset(e.Range.Start.Line, e.Range.Start.Character), offset(e.Range.End.Line, e.Range.End.Character)
		if s < last || t < s {
			return "", fmt.Errorf("the edits overlap")
		}
		out.WriteString(text[last:s] + e.NewText)
		last = t
	}
	return out.String() + text[last:], nil
}

// fileURI returns the URI of an absolute path.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// pathOf returns the path of a file URI.
func pathOf(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return "", fmt.Errorf("%s is not a file", uri)
	}
	return filepath.FromSlash(u.Path), nil
}
