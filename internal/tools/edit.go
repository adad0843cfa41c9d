package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// maxEdits limits the number of edits in one call.
const maxEdits = 100

type editArgs struct {
	Path       string     `json:"path"`
	OldString  *string    `json:"old_string,omitempty" jsonschema:"exact text, found once"`
	NewString  string     `json:"new_string,omitempty"`
	ReplaceAll bool       `json:"replace_all,omitempty"`
	Edits      []editPair `json:"edits,omitempty" jsonschema:"several edits, all or none, each against the file as it is now"`

	NearLine      int     `json:"near_line,omitempty" jsonschema:"hidden"`
	ExpectedCount int     `json:"expected_count,omitempty" jsonschema:"hidden"`
	Patch         string  `json:"patch,omitempty" jsonschema:"hidden"`
	Content       *string `json:"content,omitempty" jsonschema:"hidden"`
}

type editPair struct {
	OldString  string `json:"old_string,omitempty"`
	NewString  string `json:"new_string,omitempty"`
	ReplaceAll bool   `json:"replace_all,omitempty"`

	NearLine      int `json:"near_line,omitempty" jsonschema:"hidden"`
	ExpectedCount int `json:"expected_count,omitempty" jsonschema:"hidden"`
}

// editAliases are the names that models use for the properties of an edit.
var editAliases = map[string]string{
	"old_text": "old_string", "oldtext": "old_string", "old_str": "old_string",
	"oldstr": "old_string", "oldstring": "old_string", "search": "old_string", "find": "old_string",
	"old":      "old_string",
	"new_text": "new_string", "newtext": "new_string", "new_str": "new_string",
	"newstr": "new_string", "newstring": "new_string", "replace": "new_string",
	"replacement": "new_string", "new": "new_string",
	"replaceall": "replace_all", "all": "replace_all", "global": "replace_all",
	"allow_multiple": "replace_all", "nearline": "near_line", "line": "near_line",
	"expectedcount": "expected_count", "expected_replacements": "expected_count",
	"count": "expected_count",
}

// UnmarshalMapstructure also accepts the names in editAliases.
func (p *editPair) UnmarshalMapstructure(v any) error {
	given, ok := v.(map[string]any)
	if !ok {
		return errors.New("each entry of edits must be an object with old_string and new_string")
	}
	pair := maps.Clone(given)
	for name, v := range given {
		if real := editAliases[strings.ToLower(name)]; real != "" {
			if _, taken := pair[real]; !taken {
				pair[real] = v
			}
		}
	}
	type plain editPair
	return tool.Assign(pair, (*plain)(p))
}

func (e *sessionEnv) editTool() tool.Tool {
	aliases := map[string]string{
		"file_path": "path", "filepath": "path", "file": "path", "filename": "path",
		"target_file": "path", "absolute_path": "path", "relative_path": "path", "uri": "path",
		"replacements": "edits", "changes": "edits", "operations": "edits", "diff": "patch",
		"file_text": "content",
	}
	for other, real := range editAliases {
		aliases[other] = real
	}
	return newTool(definition[editArgs]{
		spec: tool.Spec{
			Name: "edit", Label: "Edit", Effect: tool.Mutates, MaxResult: -1, ParamAliases: aliases,
			Aliases: []string{"edit_file", "str_replace", "str_replace_editor",
				"str_replace_based_edit_tool", "multi_edit", "multiedit", "replace",
				"replace_in_file", "search_replace", "string_replace"},
		},
		prepare: e.prepareEdit,
	})
}

func (e *sessionEnv) prepareEdit(call *tool.Call, a editArgs) tool.Prepared {
	patch, files := a.files()
	resolved := e.resolve(call, files...)
	file := resolved.of(a.Path)
	do, preview := bindFile(e.edit, file, a), e.previewEdit(call, file, a)
	if patch != nil && a.OldString == nil && len(a.Edits) == 0 {
		preview = previewPatch(a.Patch)
		do = func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
			return e.patch(ctx, call, patch, resolved)
		}
	}
	p := tool.Prepared{
		Label:   "Edit " + a.Path,
		Subject: resolved.subject(tool.SubjectEdit, "Edit"),
		Preview: preview,
		Locks:   resolved.keys(),
		Run:     saysUnchanged(do),
	}
	if a.Path != "" {
		p.Locations = resolved[:1].locations(a.NearLine)
	}
	return p
}

// files returns the parsed patch, or nil if there is none, and the names of all files that the call
// may change. A patch contains its own file names.
func (a editArgs) files() (patch *parsedPatch, names []string) {
	if a.Path != "" {
		names = append(names, a.Path)
	}
	if a.Patch != "" {
		patch = patchArgs{Patch: a.Patch, Path: a.Path}.parse()
		names = append(names, patch.names...)
	}
	return patch, names
}

func (e *sessionEnv) edit(ctx context.Context, call *tool.Call, file named,
	a editArgs) (*tool.Result, error) {
	if a.Content != nil && a.OldString == nil && len(a.Edits) == 0 {
		return e.write(ctx, call, file, *a.Content)
	}
	pairs, err := a.pairs()
	if err != nil {
		return nil, err
	}
	t, err := e.target(ctx, call, file)
	if fresh(pairs) && t != nil &&
		(errors.Is(err, fs.ErrNotExist) || err == nil && len(t.file.Text.Data) == 0) {
		return e.write(ctx, call, file, pairs[0].New)
	}
	if errors.Is(err, fs.ErrNotExist) && t != nil {
		return nil, fmt.Errorf("%s does not exist.%s Use write to create a new file", t.name,
			e.similar(call, t.ref))
	}
	if err != nil {
		return nil, err
	}
	if err := e.mustRead(t); err != nil {
		return nil, err
	}
	plan, err := edit.Match(t.file.Text.Data, pairs, e.options(t))
	if err != nil {
		return nil, e.failed(t, err)
	}
	return e.carryOut(ctx, call, t, plan, "Edit "+t.name)
}

// fresh reports whether the call contains a single edit without an old string. Some models create
// files this way.
func fresh(pairs []edit.Replace) bool { return len(pairs) == 1 && pairs[0].Old == "" }

func (a editArgs) pairs() ([]edit.Replace, error) {
	var out []edit.Replace
	if a.OldString != nil || a.NewString != "" && len(a.Edits) == 0 {
		old := ""
		if a.OldString != nil {
			old = *a.OldString
		}
		out = append(out, edit.Replace{Old: old, New: a.NewString, ReplaceAll: a.ReplaceAll,
			NearLine: a.NearLine, ExpectedCount: a.ExpectedCount})
	}
	for _, p := range a.Edits {
		out = append(out, edit.Replace{Old: p.OldString, New: p.NewString, ReplaceAll: p.ReplaceAll,
			NearLine: p.NearLine, ExpectedCount: p.ExpectedCount})
	}
	switch {
	case len(out) == 0:
		return nil, errors.New("no change is given: send old_string and new_string, or edits")
	case len(out) > maxEdits:
		return nil, fmt.Errorf("there are %d edits; at most %d are allowed in one call", len(out), maxEdits)
	}
	return out, nil
}

// carryOut proposes the changes of a plan for one file.
func (e *sessionEnv) carryOut(ctx context.Context, call *tool.Call, t *target, plan *edit.Plan,
	title string) (*tool.Result, error) {
	note, err := e.known(call, t, plan)
	if err != nil {
		return nil, err
	}
	e.resetFailures(t.ref)
	summary := plan.Summary(t.file.Text.Data)
	if note != "" {
		summary += "note: " + note + "\n"
	}
	if plan.NoOp {
		return text("%s: nothing was changed.\n%s", title, strings.TrimRight(summary, "\n")), nil
	}
	return e.propose(ctx, call, title, summary, []workspace.Change{t.modify(plan)})
}

func (t *target) modify(plan *edit.Plan) workspace.Change {
	base := t.file.Text.Data
	return workspace.Change{Op: workspace.Modify, Ref: t.ref, Data: plan.Apply(base),
		Base: t.file.SHA256, Hunks: plan.Hunks(base)}
}
