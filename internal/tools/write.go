package tools

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (e *sessionEnv) writeTool() tool.Tool {
	return newTool(definition[writeArgs]{
		spec: tool.Spec{
			Name: "write", Label: "Write", Effect: tool.Mutates, MaxResult: -1,
			Aliases: []string{"write_file", "create_file", "writefile", "write_to_file",
				"save_file", "create"},
			ParamAliases: map[string]string{"file_path": "path", "filepath": "path", "file": "path",
				"filename": "path", "target_file": "path", "absolute_path": "path", "uri": "path",
				"contents": "content", "text": "content", "file_text": "content", "data": "content",
				"code": "content"},
		},
		prepare: func(call *tool.Call, a writeArgs) tool.Prepared {
			files := e.resolve(call, a.Path)
			return tool.Prepared{
				Label:     "Write " + a.Path,
				Locations: files.locations(0),
				Subject:   files.subject(tool.SubjectEdit, "Write"),
				Preview:   e.previewWrite(call, files[0], a.Content),
				Locks:     files.keys(),
				Run:       saysUnchanged(bindFile(e.write, files[0], a.Content)),
			}
		},
	})
}

func (e *sessionEnv) write(ctx context.Context, call *tool.Call, file named,
	content string) (*tool.Result, error) {
	t, err := e.target(ctx, call, file)
	if errors.Is(err, fs.ErrNotExist) && t != nil {
		return e.create(ctx, call, t, content)
	}
	if err != nil {
		return nil, err
	}
	note := ""
	if len(t.file.Text.Data) > 0 {
		if note, err = e.Workspace.CheckStamp(e.ID, t.file, true); err != nil {
			return nil, err
		}
	}
	plan, err := edit.Whole(t.file.Text.Data, []byte(content), e.options(t))
	if err != nil {
		return nil, err
	}
	if plan.NoOp {
		return text("%s already has this content; nothing was changed.", t.name), nil
	}
	summary := strings.Join(plan.Notes, "\n")
	if note != "" {
		summary += "\n" + note
	}
	e.resetFailures(t.ref)
	return e.propose(ctx, call, "Write "+t.name, strings.TrimSpace(summary),
		[]workspace.Change{t.modify(plan)})
}

func (e *sessionEnv) create(ctx context.Context, call *tool.Call, t *target,
	content string) (*tool.Result, error) {
	change := workspace.Change{Op: workspace.Create, Ref: t.ref, Data: []byte(content)}
	summary := "new file, " + plural(countLines(change.Data), "line")
	if content != "" && !strings.HasSuffix(content, "\n") {
		summary += ", without a line break at its end"
	}
	res, err := e.propose(ctx, call, "Create "+t.name, summary, []workspace.Change{change})
	if err == nil && res.Meta.Key != "" {
		res.Meta.Key = t.ref.Key + ":1-" + strconv.Itoa(countLines(change.Data))
	}
	return res, err
}
