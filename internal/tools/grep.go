package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/search"
)

// Limits of grep.
const (
	grepDefault = 100 // matches, or files if only names are shown
	grepMax     = 2000
	grepContext = 20       // maximum number of lines before and after a match
	grepLine    = 500      // bytes per line
	grepBytes   = 32 << 10 // maximum bytes of the result
)

type grepArgs struct {
	Pattern    string `json:"pattern" jsonschema:"RE2 regular expression"`
	Path       string `json:"path,omitempty" jsonschema:"folder or file; default: working directory"`
	Glob       string `json:"glob,omitempty" jsonschema:"only these files, e.g. *.ts,*.tsx,!*.d.ts"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"pattern is plain text"`
	Context    int    `json:"context,omitempty" jsonschema:"lines around each match"`
	Mode       string `json:"mode,omitempty" jsonschema:"content (default), files or count"`
	Limit      int    `json:"limit,omitempty" jsonschema:"matches to show; default 100"`
	All        bool   `json:"all,omitempty" jsonschema:"hidden and ignored files too"`
}

func (e *sessionEnv) grepTool() tool.Tool {
	return newTool(definition[grepArgs]{
		spec: tool.Spec{
			Name: "grep", Label: "Search", Effect: tool.ReadOnly, MaxResult: -1,
			Aliases: []string{"search", "grep_search", "search_files", "search_file_content",
				"ripgrep", "rg", "code_search"},
			ParamAliases: map[string]string{"query": "pattern", "regex": "pattern",
				"regexp": "pattern", "search": "pattern", "directory": "path", "dir": "path",
				"dir_path": "path", "folder": "path", "file_path": "path",
				"include": "glob", "file_pattern": "glob", "include_pattern": "glob",
				"case_insensitive": "ignore_case", "-i": "ignore_case", "fixed_strings": "literal",
				"-F": "literal",
				"-C": "context", "context_lines": "context", "-A": "context", "-B": "context",
				"output_mode": "mode", "head_limit": "limit", "max_results": "limit",
				"max_count": "limit", "no_ignore": "all", "hidden": "all"},
		},
		prepare: func(call *tool.Call, a grepArgs) tool.Prepared {
			where := e.resolve(call, cmp.Or(a.Path, "."))
			return tool.Prepared{
				Label:   "Search for " + quoted(a.Pattern, 60),
				Subject: where.subject(tool.SubjectRead, "Search"),
				Run:     bindFile(e.grep, where[0], a),
			}
		},
	})
}

func (e *sessionEnv) grep(ctx context.Context, call *tool.Call, where named,
	a grepArgs) (*tool.Result, error) {
	mode, err := grepMode(a.Mode)
	if err != nil {
		return nil, err
	}
	root, err := e.searchRoot(where)
	if err != nil {
		return nil, err
	}
	matcher, note, err := compileGrep(a)
	if err != nil {
		return nil, err
	}
	q := search.Query{Matcher: matcher, Context: min(max(a.Context, 0), grepContext),
		MaxLine: grepLine, Names: mode == "files", Counts: mode == "count"}
	if q.Limit = a.Limit; q.Limit <= 0 {
		q.Limit = grepDefault
	}
	q.Limit = min(q.Limit, grepMax)
	hidden := strings.HasPrefix(a.Glob, ".")
	if a.Glob != "" {
		if q.Only, err = search.CompileGlob(a.Glob); err != nil {
			return nil, err
		}
		hidden = q.Only.Dots()
	}
	q.Unsaved, q.Overlay = e.unsaved()
	// Whether a secret file matches must not affect the result. Otherwise, many patterns together
	// would reveal the secret.
	q.Secret = e.SecretNames
	q.Withheld = func(path string) bool { return e.withheld("grep", root, path) }
	found, err := search.Grep(ctx, root, e.walkOptions(hidden, a.All), q)
	if err != nil {
		return nil, e.lookError(call, "searching", root, err)
	}
	out := &grepOutput{output: output{limit: grepBytes}, a: a, mode: mode, found: found, note: note}
	out.dir = func(rel string) string {
		if rel == "" {
			return e.shown(call, root)
		}
		return e.shown(call, root+"/"+rel)
	}
	res := &tool.Result{Text: out.write(),
		Meta: tool.Meta{Kind: "search", Key: a.Pattern + "\x00" + root}}
	res.Details = details(map[string]any{"matches": found.Matches, "files": len(found.Files),
		"more": found.More})
	return res, nil
}

// withheld reports whether a search of named must not show the file at path, because the file is
// secret or because of a rule.
func (e *sessionEnv) withheld(tool, named, path string) bool {
	return e.Secret != nil && e.Secret(path) ||
		e.Deps.Withheld != nil && e.Deps.Withheld(e.ID, tool, named, path)
}

// searchRoot returns the path of the folder or file to search.
func (e *sessionEnv) searchRoot(where named) (string, error) {
	if spill, ok := e.spillPath(where.path); ok {
		return spill, nil
	}
	if where.err != nil {
		return "", where.err
	}
	if !where.ref.IsFile() {
		return "", fmt.Errorf("%s exists only in the editor; use read", where.path)
	}
	return where.ref.Path, nil
}

func grepMode(mode string) (string, error) {
	switch mode {
	case "", "content", "lines":
		return "content", nil
	case "files", "files_with_matches", "names":
		return "files", nil
	case "count", "counts":
		return "count", nil
	}
	return "", fmt.Errorf("unknown mode %q; use content, files or count", mode)
}

// compileGrep compiles the pattern. If a pattern of at most 1,000 bytes has invalid syntax,
// compileGrep compiles it as plain text and returns a note for the model. A pattern that is too
// large or has an invalid repetition is an error.
func compileGrep(a grepArgs) (*search.Matcher, string, error) {
	if a.Pattern == "" {
		return nil, "", errors.New("the pattern is empty; send a pattern, or use glob to list files")
	}
	p := search.Pattern{Text: a.Pattern, Literal: a.Literal, IgnoreCase: a.IgnoreCase}
	if search.SpansLines(p) {
		return nil, "", errors.New("the pattern contains a line break, but each line is searched separately; search for one line, with context to see the others")
	}
	m, err := search.Compile(p)
	if err == nil {
		return m, "", nil
	}
	if strings.Contains(err.Error(), "repeat count") {
		return nil, "", fmt.Errorf("reading the pattern: %w; use smaller counts", err)
	}
	if a.Literal || len(a.Pattern) > 1000 || strings.Contains(err.Error(), "repeat") ||
		strings.Contains(err.Error(), "too large") {
		return nil, "", fmt.Errorf("reading the pattern: %w", err)
	}
	p.Literal = true
	m, err2 := search.Compile(p)
	if err2 != nil {
		return nil, "", err2
	}
	why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	return m, "Note: the pattern is not a valid regular expression (" + why +
		"), so it was searched as plain text.", nil
}

type grepOutput struct {
	output
	a     grepArgs
	mode  string
	found *search.Found
	note  string
	dir   func(rel string) string
}

func (o *grepOutput) write() string {
	if o.note != "" {
		o.line(o.note)
	}
	if o.found.Secret > 0 {
		o.line("[" + plural(o.found.Secret, "file") +
			" skipped because such files usually contain secrets. Use read, which asks the user first.]")
	}
	if len(o.found.Files) == 0 {
		o.line(o.nothing())
		return strings.TrimSuffix(o.String(), "\n")
	}
	shown, matches := 0, 0
	for i := range o.found.Files {
		n, ok := o.file(&o.found.Files[i], i > 0)
		if matches += n; !ok {
			break
		}
		shown++
	}
	o.footer(shown, matches)
	return strings.TrimSuffix(o.String(), "\n")
}

func (o *grepOutput) nothing() string {
	s := fmt.Sprintf("No match for %s in %s searched.", oneLine(o.a.Pattern, 100),
		plural(o.found.Searched-o.found.Binary, "file"))
	if o.found.Searched == 0 {
		s = "No file to search here"
		if o.a.Glob != "" {
			s += " matches the glob " + o.a.Glob
		}
		s += "."
	}
	if o.found.Binary > 0 {
		s += " " + plural(o.found.Binary, "binary file") + " skipped."
	}
	if !o.a.All {
		s += " Hidden and ignored files were not searched; set all to search them."
	}
	return s
}

// file writes the part of the result for one file. ok is false if the result is full.
func (o *grepOutput) file(f *search.FileMatches, sep bool) (matches int, ok bool) {
	name := o.dir(f.Path)
	if f.Unsaved {
		name += " (unsaved buffer)"
	}
	switch o.mode {
	case "files":
		return 1, o.line(name)
	case "count":
		return f.Count, o.line(strconv.Itoa(f.Count) + " " + name)
	}
	if sep && !o.line("") || !o.line(name) {
		return 0, false
	}
	last := 0
	for _, l := range f.Lines {
		if last > 0 && l.Number > last+1 && o.a.Context > 0 && !o.line("--") {
			return matches, false
		}
		mark := ":"
		if l.Context {
			mark = "-"
		}
		if !o.line(strconv.Itoa(l.Number) + mark + validText(l.Text)) {
			return matches, false
		}
		if last = l.Number; !l.Context {
			matches++
		}
	}
	return matches, true
}

func (o *grepOutput) footer(shown, matches int) {
	what := plural(matches, "match")
	if o.mode == "files" {
		what = plural(shown, "file")
	}
	switch {
	case o.full:
		other := ", or use mode files"
		if o.mode == "files" {
			other = ""
		}
		fmt.Fprintf(o, "[Cut at %s. Narrow the pattern, path or glob%s.]\n", what, other)
	case o.found.More || o.mode == "content" && matches >= o.limitOf():
		fmt.Fprintf(o, "[Stopped at %s; there may be more. Narrow the pattern, path or glob, or raise limit (at most %d).]\n", what, grepMax)
	}
}

func (o *grepOutput) limitOf() int {
	if o.a.Limit <= 0 {
		return grepDefault
	}
	return min(o.a.Limit, grepMax)
}
