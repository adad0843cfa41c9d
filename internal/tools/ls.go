package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Limits of ls.
const (
	lsEntries = 500
	lsDepth   = 5
	lsBytes   = 32 << 10
)

type lsArgs struct {
	Path  string `json:"path,omitempty" jsonschema:"folder; default: working directory"`
	Depth int    `json:"depth,omitempty" jsonschema:"levels, 1 (default) to 5"`
}

func (e *sessionEnv) lsTool() tool.Tool {
	return newTool(definition[lsArgs]{
		spec: tool.Spec{
			Name: "ls", Label: "List", Effect: tool.ReadOnly, MaxResult: -1, Deferred: true,
			Aliases: []string{"list_dir", "list_directory", "list_files", "dir", "tree"},
			ParamAliases: map[string]string{"directory": "path", "dir": "path", "dir_path": "path",
				"folder": "path", "target_directory": "path", "levels": "depth"},
		},
		prepare: func(call *tool.Call, a lsArgs) tool.Prepared {
			where := e.resolve(call, cmp.Or(a.Path, "."))[0]
			label := "List " + a.Path
			if filepath.Clean(a.Path) == "." {
				label = "List files"
			}
			return tool.Prepared{Label: label, Run: bindFile(e.ls, where, a.Depth)}
		},
	})
}

func (e *sessionEnv) ls(
	ctx context.Context,
	call *tool.Call,
	where named,
	depth int,
) (*tool.Result, error) {
	if where.err != nil {
		return nil, where.err
	}
	return e.listFolder(ctx, call, where.ref, min(max(depth, 1), lsDepth))
}

// listFolder lists everything in a folder, including ignored files, because a listing should show
// what exists.
func (e *sessionEnv) listFolder(ctx context.Context, call *tool.Call, ref workspace.Ref,
	depth int) (*tool.Result, error) {
	l := &lister{e: e, ctx: ctx, call: call, out: output{limit: lsBytes}}
	if err := l.folder(ref, "", depth); err != nil {
		return nil, e.lookError(call, "listing", ref.Path, err)
	}
	name := e.shown(call, ref.Path)
	if l.total == 0 {
		return text("%s is an empty folder.", name), nil
	}
	s := fmt.Sprintf("%s/ (%s)\n%s", strings.TrimSuffix(name, "/"), plural(l.total, "entry"),
		strings.TrimSuffix(l.out.String(), "\n"))
	if l.shown < l.total {
		s += fmt.Sprintf("\n[%s of %s entries shown. List a sub-folder, or use glob with a pattern.]", number(l.shown), number(l.total))
	}
	res := text("%s", s)
	res.Meta = tool.Meta{Kind: "list", Key: ref.Path}
	return res, nil
}

type lister struct {
	e            *sessionEnv
	ctx          context.Context
	call         *tool.Call
	out          output
	shown, total int
}

func (l *lister) folder(ref workspace.Ref, indent string, depth int) error {
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	entries, err := l.e.Workspace.ReadDir(ref)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return strings.Compare(a.Name(),
			b.Name())
	})
	for _, d := range entries {
		l.total++
		if l.shown < lsEntries && l.out.line(indent+entryName(d)) {
			l.shown++
		}
		if !d.IsDir() || depth <= 1 || d.Name() == ".git" || l.shown >= lsEntries {
			continue
		}
		sub, err := l.e.Workspace.Resolve(l.call.Cwd, filepath.Join(ref.Path, d.Name()))
		if err == nil {
			err = l.folder(sub, indent+"  ", depth-1)
		}
		if err != nil && errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// entryName returns a name with a suffix for its kind: / for a folder, @ for a link, and | for a
// pipe or another special file.
func entryName(d fs.DirEntry) string {
	name := validText(strings.ReplaceAll(d.Name(), "\n", `\n`))
	switch {
	case d.IsDir():
		return name + "/"
	case d.Type()&fs.ModeSymlink != 0:
		return name + "@"
	case !d.Type().IsRegular():
		return name + "|"
	}
	return name
}
