package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
)

// maxPatchFiles limits the number of files in one patch.
const maxPatchFiles = 200

type patchArgs struct {
	Patch string `json:"patch"`
	// Path is set if the call names the file separately, as in the formats of Cline and Roo Code.
	// The patch then changes only this file.
	Path string `json:"path,omitempty" jsonschema:"hidden"`
}

func (e *sessionEnv) patchTool() tool.Tool {
	return newTool(definition[patchArgs]{
		spec: tool.Spec{
			Name: "apply_patch", Label: "Patch", Effect: tool.Mutates, Deferred: true,
			MaxResult: -1,
			Aliases:   []string{"applypatch", "patch", "apply_diff", "patch_file"},
			ParamAliases: map[string]string{"file_path": "path", "file": "path", "filename": "path",
				"target_file": "path", "input": "patch", "diff": "patch", "patch_text": "patch",
				"patchtext": "patch", "content": "patch"},
		},
		prepare: func(call *tool.Call, a patchArgs) tool.Prepared {
			parsed := a.parse()
			files := e.resolve(call, parsed.names...)
			return tool.Prepared{
				Label:     "Patch " + oneLine(strings.Join(parsed.names, ", "), 80),
				Locations: files.locations(0),
				Subject:   files.subject(tool.SubjectEdit, "Patch"),
				Preview:   previewPatch(a.Patch),
				Locks:     files.keys(),
				Run: saysUnchanged(func(ctx context.Context, call *tool.Call) (*tool.Result,
					error) {
					return e.patch(ctx, call, parsed, files)
				}),
			}
		},
	})
}

// parsedPatch is the result of parsing a patch.
type parsedPatch struct {
	files []patch.File
	names []string // files that the patch changes, or seems to change if it is invalid
	err   error    // why the patch is invalid
}

func (a patchArgs) parse() *parsedPatch {
	p := &parsedPatch{}
	if a.Path != "" {
		p.files, p.err = patch.ParseFor(a.Path, a.Patch)
	} else {
		p.files, p.err = patch.Parse(a.Patch)
	}
	named := p.files
	if p.err != nil {
		named, _ = patch.Parse(a.Patch)
	}
	for _, f := range named {
		if p.names = append(p.names, f.Path); f.NewPath != "" {
			p.names = append(p.names, f.NewPath)
		}
	}
	return p
}

func (e *sessionEnv) patch(
	ctx context.Context,
	call *tool.Call,
	parsed *parsedPatch,
	resolved paths,
) (*tool.Result, error) {
	if parsed.err != nil {
		return nil, parsed.err
	}
	files := parsed.files
	if len(files) > maxPatchFiles {
		return nil, fmt.Errorf("the patch has %d files; at most %d are allowed in one call", len(files),
			maxPatchFiles)
	}
	var changes []workspace.Change
	var summary strings.Builder
	var names []string
	var unread error // the errors of all files, so that the model gets them in one result
	for _, p := range files {
		c, s, name, err := e.patchFile(ctx, call, p, resolved)
		if isUnread(err) {
			unread = errors.Join(unread, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		names = append(names, name)
		if s = strings.TrimRight(s, "\n"); s != "" {
			fmt.Fprintf(&summary, "%s: %s\n", name, s)
		}
		if c != nil {
			changes = append(changes, *c)
		}
	}
	if unread != nil {
		return nil, unread
	}
	title := "Patch " + oneLine(joinNames(names, nil), 200)
	if len(changes) == 0 {
		return text("%s: nothing was changed.\n%s", title, summary.String()), nil
	}
	return e.propose(ctx, call, title, summary.String(), changes)
}

// patchFile plans the changes to one file. It returns no change if the file already contains them.
func (e *sessionEnv) patchFile(ctx context.Context, call *tool.Call, p patch.File,
	resolved paths) (*workspace.Change, string, string, error) {
	t, err := e.target(ctx, call, resolved.of(p.Path))
	missing := errors.Is(err, fs.ErrNotExist) && t != nil
	switch {
	case missing && p.Op == patch.Create:
		return &workspace.Change{Op: workspace.Create, Ref: t.ref, Data: p.Content}, "new file, " +
			plural(countLines(p.Content), "line"), t.name, nil
	case missing:
		return nil, "", "", fmt.Errorf("it does not exist.%s Nothing was changed",
			e.similar(call, t.ref))
	case err != nil:
		return nil, "", "", err
	}
	if err := e.mustRead(t); err != nil {
		return nil, "", "", err
	}
	plan, err := edit.MatchPatch(t.file.Text.Data, p, e.options(t))
	if err != nil {
		return nil, "", "", e.failed(t, err)
	}
	note := ""
	if p.Op != patch.Delete && len(plan.Spans) > 0 {
		if note, err = e.known(call, t, plan); err != nil {
			return nil, "", "", err
		}
	}
	e.resetFailures(t.ref)
	c, summary, err := e.patchChange(ctx, call, t, p, plan, resolved.of(p.NewPath))
	if note != "" {
		summary += "note: " + note + "\n"
	}
	return c, summary, t.name, err
}

func (e *sessionEnv) patchChange(ctx context.Context, call *tool.Call, t *target, p patch.File,
	plan *edit.Plan, newName named) (*workspace.Change, string, error) {
	switch p.Op {
	case patch.Delete:
		return &workspace.Change{Op: workspace.Delete, Ref: t.ref, Base: t.file.SHA256}, "deleted",
			nil
	case patch.Rename:
		if newName.err != nil {
			return nil, "", newName.err
		}
		to := newName.ref
		if _, err := e.Workspace.ReadFor(ctx, e.owner(), to); !errors.Is(err, fs.ErrNotExist) &&
			to.IsFile() {
			return nil, "", fmt.Errorf("it cannot be renamed to %s, which already exists. Choose another name, or delete that file first", e.shown(call, to.Path))
		}
		c := &workspace.Change{Op: workspace.Rename, Ref: t.ref, NewRef: to, Base: t.file.SHA256}
		if len(plan.Spans) > 0 {
			c.Data = plan.Apply(t.file.Text.Data)
		}
		return c, "renamed to " + e.shown(call, to.Path) + "\n" + plan.Summary(t.file.Text.Data),
			nil
	}
	summary := "\n" + plan.Summary(t.file.Text.Data)
	if plan.NoOp {
		return nil, summary, nil
	}
	c := t.modify(plan)
	return &c, summary, nil
}
