package tools

import (
	"context"
	"errors"
	"io/fs"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

const (
	// maxPreview is the maximum size of a preview in bytes. A longer preview is cut.
	maxPreview     = 16 << 10
	previewContext = 3 // unchanged lines around each change
)

// preview is the type of tool.Prepared.Preview.
type preview = func(ctx context.Context) string

// previewEdit returns a preview of an edit for a permission question. The preview is "" if the edit
// cannot be applied. Unlike edit, it counts no failures and does not mark the file as read.
func (e *sessionEnv) previewEdit(call *tool.Call, file named, a editArgs) preview {
	return func(ctx context.Context) string {
		if a.Content != nil && a.OldString == nil && len(a.Edits) == 0 {
			return e.previewWrite(call, file, *a.Content)(ctx)
		}
		pairs, err := a.pairs()
		if err != nil {
			return ""
		}
		if fresh(pairs) {
			return e.previewWrite(call, file, pairs[0].New)(ctx)
		}
		t, err := e.target(ctx, call, file)
		if err != nil {
			return ""
		}
		old := t.file.Text.Data
		plan, err := edit.Match(old, pairs, e.options(t))
		if err != nil {
			return ""
		}
		return previewOf(t.name, old, plan.Apply(old))
	}
}

// previewWrite returns a preview in which content replaces the content of a file, or a new file is
// created.
func (e *sessionEnv) previewWrite(call *tool.Call, file named, content string) preview {
	return func(ctx context.Context) string {
		t, err := e.target(ctx, call, file)
		switch {
		case err == nil:
			return previewOf(t.name, t.file.Text.Data, []byte(content))
		case errors.Is(err, fs.ErrNotExist) && t != nil:
			return previewOf(t.name, nil, []byte(content))
		}
		return ""
	}
}

// previewPatch returns a preview that shows the patch as the model wrote it, because a patch is
// already a diff.
func previewPatch(patch string) preview {
	return func(context.Context) string { return clip.Counted(patch, maxPreview) }
}

func previewOf(name string, old, new []byte) string {
	from := "a/" + name
	if old == nil {
		from = "/dev/null"
	}
	return clip.Counted(edit.Unified(from, "b/"+name, old, new, previewContext), maxPreview)
}
