package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/search"
)

// Limits of glob.
const (
	globDefault = 200 // paths
	globMax     = 5000
	globBytes   = 32 << 10
)

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"e.g. **/*_test.go"`
	Path    string `json:"path,omitempty" jsonschema:"folder; default: working directory"`
	Limit   int    `json:"limit,omitempty"`
	All     bool   `json:"all,omitempty" jsonschema:"hidden and ignored files too"`
}

func (e *sessionEnv) globTool() tool.Tool {
	return newTool(definition[globArgs]{
		spec: tool.Spec{
			Name: "glob", Label: "Find files", Effect: tool.ReadOnly, MaxResult: -1,
			Aliases: []string{"find_files", "file_search", "glob_file_search", "find",
				"search_files_by_name"},
			ParamAliases: map[string]string{"glob": "pattern", "glob_pattern": "pattern",
				"query": "pattern", "directory": "path", "dir": "path", "dir_path": "path",
				"folder": "path", "target_directory": "path", "max_results": "limit",
				"head_limit": "limit", "no_ignore": "all", "hidden": "all"},
		},
		prepare: func(call *tool.Call, a globArgs) tool.Prepared {
			label := "Find " + quoted(a.Pattern, 60)
			if filepath.IsAbs(a.Pattern) && len(search.SplitGlobs(a.Pattern)) == 1 {
				a.Path, a.Pattern = splitGlob(a.Pattern)
			}
			where := e.resolve(call, cmp.Or(a.Path, "."))
			return tool.Prepared{Label: label, Run: bindFile(e.glob, where[0], a)}
		},
	})
}

func (e *sessionEnv) glob(ctx context.Context, call *tool.Call, where named,
	a globArgs) (*tool.Result, error) {
	if a.Pattern == "" {
		return nil, errors.New("the pattern is empty; use **/* for all files")
	}
	if filepath.IsAbs(a.Pattern) && len(search.SplitGlobs(a.Pattern)) > 1 {
		return nil, errors.New("several patterns must be relative; send the folder as path")
	}
	g, err := search.CompileGlob(a.Pattern)
	if err != nil {
		return nil, err
	}
	root, err := e.searchRoot(where)
	if err != nil {
		return nil, err
	}
	limit := a.Limit
	if limit <= 0 {
		limit = globDefault
	}
	limit = min(limit, globMax)
	o := &output{limit: globBytes}
	opt := e.walkOptions(g.Dots(), a.All)
	opt.Symlinks = true
	found, shown := 0, 0
	err = search.Walk(ctx, root, opt, func(dir string, files []string) error {
		for _, f := range files {
			rel := f
			if dir != "" {
				rel = dir + "/" + f
			}
			if !g.Match(rel) {
				continue
			}
			if found++; shown < limit && o.line(e.shownBelow(call, root, rel)) {
				shown++
			}
		}
		return nil
	})
	if err != nil {
		return nil, e.lookError(call, "listing", root, err)
	}
	if found == 0 {
		s := fmt.Sprintf("No file matches %s.", a.Pattern)
		if !a.All {
			s += " Hidden and ignored files were skipped; set all to see them."
		}
		return text("%s", s), nil
	}
	if shown < found {
		fmt.Fprintf(o, "[%s of %s shown. Narrow the pattern or path, or raise limit (at most %d).]\n", number(shown), plural(found, "file"), globMax)
	}
	res := text("%s", strings.TrimSuffix(o.String(), "\n"))
	res.Meta = tool.Meta{Kind: "list", Key: a.Pattern + "\x00" + root}
	res.Details = details(map[string]int{"files": found})
	return res, nil
}

// lookError returns the error for a folder or file that could not be read, for example because it
// does not exist.
func (e *sessionEnv) lookError(call *tool.Call, doing, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist. Use glob or ls to see what there is",
			e.shown(call, path))
	}
	return fmt.Errorf("%s %s: %w", doing, e.shown(call, path), err)
}

// shownBelow returns the display form of a path below an already resolved root.
func (e *sessionEnv) shownBelow(call *tool.Call, root, rel string) string {
	return e.shown(call, filepath.Join(root, filepath.FromSlash(rel)))
}

// splitGlob splits an absolute pattern at its first element that contains a wildcard.
func splitGlob(pattern string) (dir, rest string) {
	parts := strings.Split(filepath.ToSlash(pattern), "/")
	n := 0
	for n < len(parts)-1 && !strings.ContainsAny(parts[n], `*?[{\`) {
		n++
	}
	return strings.Join(parts[:n], "/") + "/", "/" + strings.Join(parts[n:], "/")
}
