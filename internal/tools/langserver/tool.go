package langserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// args are the arguments that the model sends.
type args struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Symbol    string `json:"symbol"`
	Query     string `json:"query"`
	NewName   string `json:"new_name"`
	EndLine   int    `json:"end_line"`
	Title     string `json:"title"`

	// named and namedErr are the result of resolving Path when the call was prepared. The call uses
	// the same file that the user was asked about, even if a link changes in the meantime.
	named    workspace.Ref
	namedErr error
}

const (
	placeSchema = `"path":{"type":"string"},"line":{"type":"integer","minimum":1,"description":"1-based"},"column":{"type":"integer","minimum":1,"description":"1-based, in characters"},"symbol":{"type":"string","description":"a name instead of a position; with path it is looked for there, with line on that line"}`
	lspSchema   = `{"type":"object","properties":{"operation":{"type":"string",` +
		`"enum":["diagnostics","workspaceDiagnostics","definition","references",` +
		`"implementation","hover","documentSymbol","workspaceSymbol","incomingCalls",` +
		`"outgoingCalls","codeActions"]},` +
		placeSchema + `,"end_line":{"type":"integer","description":"of codeActions"},` +
		`"query":{"type":"string","description":"of workspaceSymbol"}},` +
		`"required":["operation"]}`
	actionSchema = `{"type":"object","properties":{` + placeSchema +
		`,"end_line":{"type":"integer"},"title":{"type":"string","description":"of the action, ` +
		`or a part of it"}},"required":["path","title"]}`
	renameSchema = `{"type":"object","properties":{` + placeSchema +
		`,"new_name":{"type":"string"}},"required":["new_name"]}`
)

var aliases = map[string]string{"file_path": "path", "file": "path", "filename": "path",
	"uri": "path", "character": "column", "col": "column", "name": "symbol", "action": "operation"}

// Tools returns the tools of a session: lsp, and also lsp_rename and lsp_action if propose is not
// nil.
func (h *Hub) Tools(propose Propose) []tool.Tool {
	out := []tool.Tool{&hubTool{h, tool.Spec{
		Name: "lsp", Label: "Language server", Effect: tool.ReadOnly, Source: "builtin",
		Deferred: true, ParamAliases: aliases, Schema: json.RawMessage(lspSchema),
		Description: "Ask the language server: diagnostics of a file or the workspace, definition, references, implementation, hover, symbols, calls, code actions. Give path with line and column, or a symbol by name. Unsaved text is included.",
	}, h.run}}
	if propose != nil {
		out = append(out, &hubTool{h, tool.Spec{
			Name: "lsp_rename", Label: "Rename", Effect: tool.Mutates, Source: "builtin",
			Deferred: true, ParamAliases: aliases, Schema: json.RawMessage(renameSchema),
			Description: "Rename a symbol everywhere with the language server. Give path with line and column, or a symbol by name. The changes are reviewed like an edit.",
		}, func(ctx context.Context, call *tool.Call, a args) (*tool.Result, error) {
			res, err := h.rename(ctx, call, a, propose)
			return res, workspace.SayUnchanged(err)
		}}, &hubTool{h, tool.Spec{
			Name: "lsp_action", Label: "Code action", Effect: tool.Mutates, Source: "builtin",
			Deferred: true, ParamAliases: aliases, Schema: json.RawMessage(actionSchema),
			Description: "Apply a code action of the language server (quick fix, refactoring; lsp codeActions lists them). The changes are reviewed like an edit.",
		}, func(ctx context.Context, call *tool.Call, a args) (*tool.Result, error) {
			res, err := h.act(ctx, call, a, propose)
			return res, workspace.SayUnchanged(err)
		}})
	}
	return out
}

// hubTool is one of the package's tools.
type hubTool struct {
	h    *Hub
	spec tool.Spec
	run  func(ctx context.Context, call *tool.Call, a args) (*tool.Result, error)
}

var _ tool.Tool = (*hubTool)(nil)

func (t *hubTool) Spec() tool.Spec { return t.spec }

// Prepare decodes the arguments. A query about a file needs the same permission as reading it,
// because results and errors contain lines of the file.
func (t *hubTool) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	var a args
	if err := call.Decode(&a); err != nil {
		return nil, err
	}
	if a.Path != "" {
		a.named, a.namedErr = t.h.opt.Workspace.Resolve(call.Cwd, a.Path)
	}
	p := &tool.Prepared{Label: a.label()}
	p.Run = func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		ctx = context.WithValue(ctx, callKey{}, calling{call, call.SessionID, a.named})
		return t.run(ctx, call, a)
	}
	switch {
	case t.spec.Effect != tool.ReadOnly:
		p.Subject = &tool.Subject{Kind: tool.SubjectEdit, Title: p.Label}
	case a.named.Path != "": // also an open document outside the folders
		p.Subject = &tool.Subject{Kind: tool.SubjectRead, Title: p.Label}
	}
	if a.named.Path != "" {
		p.Subject.Paths = []string{a.named.Path}
	}
	return p, nil
}

// calling is the call that a context belongs to, its session, and the file that the call names.
type calling struct {
	call    *tool.Call // nil after an edit
	session string
	named   workspace.Ref
}

// callKey is the context key for calling.
type callKey struct{}

// callOf returns the call that a context belongs to, or nil if there is none.
func callOf(ctx context.Context) *tool.Call {
	c, _ := ctx.Value(callKey{}).(calling)
	return c.call
}

// NamedFile returns the file that the arguments of a context's call name. The permission for this
// file was checked before the call started. It is the zero Ref if there is no such file.
func NamedFile(ctx context.Context) workspace.Ref {
	c, _ := ctx.Value(callKey{}).(calling)
	return c.named
}

func (a args) label() string {
	what := cmp.Or(a.Symbol, a.Query, a.Path)
	switch {
	case a.Title != "":
		return "Code action: " + a.Title
	case a.NewName != "":
		return "Rename " + what + " to " + a.NewName
	}
	return strings.TrimSpace("Language server: " + a.Operation + " " + what)
}

// run executes a call of the lsp tool.
func (h *Hub) run(ctx context.Context, call *tool.Call, a args) (*tool.Result, error) {
	r := &render{h: h, ctx: ctx, cwd: call.Cwd}
	switch a.Operation {
	case opDiagnostics:
		if a.Path == "" {
			return h.workspaceDiagnostics(ctx, r)
		}
		f, err := h.file(ctx, a)
		if err != nil {
			return nil, err
		}
		return h.diagnostics(ctx, r, f)
	case opWorkspaceDiagnostics:
		return h.workspaceDiagnostics(ctx, r)
	case opCodeActions:
		return h.codeActions(ctx, r, a)
	case opWorkspaceSymbol:
		return h.workspaceSymbol(ctx, r, a)
	case opDocumentSymbol:
		f, err := h.file(ctx, a)
		if err != nil {
			return nil, err
		}
		ans, err := h.ask(ctx, a.Operation, place{file: f})
		if err != nil {
			return nil, err
		}
		return r.documentSymbols(f, ans), nil
	}
	if methods[a.Operation][0] == "" {
		return nil, fmt.Errorf("there is no operation %q; use diagnostics, workspaceDiagnostics, definition, references, implementation, hover, documentSymbol, workspaceSymbol, incomingCalls, outgoingCalls or codeActions", a.Operation)
	}
	at, err := h.place(ctx, r, a)
	if err != nil {
		return nil, err
	}
	ans, err := h.ask(ctx, a.Operation, at)
	if err != nil {
		return nil, err
	}
	return r.about(a.Operation, at, ans), nil
}

func (h *Hub) workspaceSymbol(ctx context.Context, r *render, a args) (*tool.Result, error) {
	query := a.Query
	if query == "" {
		query = a.Symbol
	}
	if query == "" {
		return nil, errors.New("workspaceSymbol needs a query; send a name or a part of one")
	}
	answers, err := h.symbols(ctx, query)
	if err != nil {
		return nil, err
	}
	return r.workspaceSymbols(query, answers), nil
}

// file reads the file that the arguments name, as the editor shows it.
func (h *Hub) file(ctx context.Context, a args) (*workspace.File, error) {
	if a.Path == "" {
		return nil, errors.New("no path is given; send the path of a file")
	}
	if a.namedErr != nil {
		return nil, a.namedErr
	}
	f, err := h.opt.Workspace.Read(ctx, a.named)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist; find it with glob", a.Path)
	}
	return f, err
}
