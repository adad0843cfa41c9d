package langserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// The operations of the tool. agent/editor/query supports all of them except workspaceDiagnostics
// and codeActions.
const (
	opDiagnostics          = "diagnostics"
	opWorkspaceDiagnostics = "workspaceDiagnostics"
	opDefinition           = "definition"
	opReferences           = "references"
	opImplementation       = "implementation"
	opHover                = "hover"
	opDocumentSymbol       = "documentSymbol"
	opWorkspaceSymbol      = "workspaceSymbol"
	opIncomingCalls        = "incomingCalls"
	opOutgoingCalls        = "outgoingCalls"
	// This operation is always sent to one of the daemon's own servers.
	opCodeActions = "codeActions"
)

// methods maps each operation, except those for diagnostics and code actions, to the request that
// answers it and the capability that announces the request.
var methods = map[string][2]string{
	opDefinition:      {protocol.MethodTextDocumentDefinition, "definitionProvider"},
	opReferences:      {protocol.MethodTextDocumentReferences, "referencesProvider"},
	opImplementation:  {protocol.MethodTextDocumentImplementation, "implementationProvider"},
	opHover:           {protocol.MethodTextDocumentHover, "hoverProvider"},
	opDocumentSymbol:  {protocol.MethodTextDocumentDocumentSymbol, "documentSymbolProvider"},
	opWorkspaceSymbol: {protocol.MethodWorkspaceSymbol, "workspaceSymbolProvider"},
	opIncomingCalls:   {protocol.MethodCallHierarchyIncomingCalls, "callHierarchyProvider"},
	opOutgoingCalls:   {protocol.MethodCallHierarchyOutgoingCalls, "callHierarchyProvider"},
}

// answer is the response from one source, in LSP's format.
type answer struct {
	raw  json.RawMessage
	enc  workspace.Encoding
	from string
}

// place is the position in a file to which a request applies.
type place struct {
	file   *workspace.File
	offset int
}

func (p place) position(enc workspace.Encoding) workspace.Position {
	return text.NewLineIndex(p.file.Text.Data).Position(p.file.Text.Data, p.offset, enc)
}

// ask asks the editor about a position. If the editor does not support the operation, ask asks the
// server for the file.
func (h *Hub) ask(ctx context.Context, op string, at place) (answer, error) {
	pos := at.position(h.opt.Workspace.Encoding())
	a, err := h.askEditor(ctx, Question{Operation: op, URI: at.file.Ref.URI, Position: &pos})
	if !errors.Is(err, ErrNotOffered) {
		return a, err
	}
	s, err := h.ready(ctx, at.file)
	if err != nil {
		return answer{}, err
	}
	if !s.offers(methods[op][1]) {
		return answer{}, fmt.Errorf("no data: %s does not offer %s; use grep and read", s.conf.Name,
			op)
	}
	raw, err := s.ask(ctx, op, at)
	return answer{raw, s.encoding(), s.conf.Name}, err
}

// askEditor asks the editor. It returns ErrNotOffered if one of the daemon's own servers must be
// asked instead.
func (h *Hub) askEditor(ctx context.Context, q Question) (answer, error) {
	if h.opt.Query == nil {
		return answer{}, ErrNotOffered
	}
	ctx, stop := context.WithTimeout(ctx, h.opt.QueryTimeout)
	defer stop()
	raw, err := h.opt.Query(ctx, q)
	switch {
	case errors.Is(err, ErrNotOffered):
		return answer{}, err
	case errors.Is(err, context.DeadlineExceeded):
		return answer{}, fmt.Errorf("%w: the editor did not answer within %v; its language server may hang or still be loading. Ask again later, or use grep", errNotReady, h.opt.QueryTimeout)
	case err != nil:
		return answer{}, fmt.Errorf("asking the editor's language server: %w", err)
	}
	return answer{raw, h.opt.Workspace.Encoding(), "the editor"}, nil
}

// ready returns the server for a file once the server has started and has the current texts.
func (h *Hub) ready(ctx context.Context, f *workspace.File) (*server, error) {
	if !f.Ref.IsFile() {
		return nil, fmt.Errorf("no data: %s is not a file, and the editor's language servers do not answer for it", f.Ref)
	}
	s, err := h.serverFor(ctx, f.Ref.Path, true)
	if err != nil {
		return nil, err
	}
	if err := s.started(ctx); err != nil {
		return nil, err
	}
	if err := s.sync(ctx, f); err != nil {
		return nil, fmt.Errorf("the language server %s: %w", s.conf.Name, err)
	}
	return s, nil
}

func (s *server) encoding() workspace.Encoding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enc
}

// ask sends the request for an operation at a position.
func (s *server) ask(ctx context.Context, op string, at place) (json.RawMessage, error) {
	params := s.at(at)
	switch op {
	case opReferences:
		params["context"] = map[string]bool{"includeDeclaration": true}
	case opIncomingCalls, opOutgoingCalls:
		raw, err := s.call(ctx, protocol.MethodTextDocumentPrepareCallHierarchy, params)
		var items []json.RawMessage
		if err != nil || json.Unmarshal(raw, &items) != nil || len(items) == 0 {
			return nil, err
		}
		params = map[string]any{"item": items[0]}
	}
	return s.call(ctx, methods[op][0], params)
}

func (s *server) at(at place) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": string(uri.File(at.file.Ref.Path))},
		"position": at.position(s.encoding())}
}

// symbols searches for symbols by name. It asks the editor or, if the editor does not support such
// questions, all servers for the workspace folders.
func (h *Hub) symbols(ctx context.Context, query string) ([]answer, error) {
	a, err := h.askEditor(ctx, Question{Operation: opWorkspaceSymbol, Query: query})
	if !errors.Is(err, ErrNotOffered) {
		return []answer{a}, err
	}
	var out []answer
	var failed []string
	servers, denied := h.forRoots(ctx)
	for _, s := range servers {
		if err = s.started(ctx); err == nil {
			err = s.sync(ctx)
		}
		if err == nil && !s.offers("workspaceSymbolProvider") {
			continue
		}
		var raw json.RawMessage
		if err == nil {
			raw, err = s.call(ctx, protocol.MethodWorkspaceSymbol,
				map[string]string{"query": query})
		}
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		out = append(out, answer{raw, s.encoding(), s.conf.Name})
	}
	switch {
	case len(out) > 0:
		return out, nil
	case denied != nil:
		return nil, denied
	case len(failed) > 0:
		return nil, errors.New(strings.Join(failed, "; "))
	}
	return nil, errors.New("no data: no language server runs for the workspace folders and no installed server supports their files; give a path, or use grep")
}
