package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/editor"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// editPolicies are the valid values of Config.editPolicy.
var editPolicies = []string{"ask", "review", "collect", "auto", "confirm"}

// initialize returns the server's capabilities. It decodes its params field by field, so that one
// wrong field does not prevent a connection.
func (s *server) initialize(ctx context.Context, raw []byte) (any, error) {
	if s.core != nil {
		return nil, agentapi.Fail(wire.CodeInvalidRequest, "initialize was sent twice")
	}
	params := conn.ObjectFrom(raw)
	if params == nil {
		return nil, agentapi.Fail(wire.CodeInvalidParams, "params: initialize needs an object")
	}
	s.link.Client = conn.ClientFrom(params)
	core, err := s.opts.Start(s.link.Context(), s.init(params))
	if err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	s.join(core)
	if s.link.Client.Features.IdleChanges {
		s.nudger.Store(conn.NewNudger(s.link))
	}
	s.watchParent(params.Int("processId"))
	s.life.phase.Store(running)
	return s.capabilities(), nil
}

// join makes the connection a client of the host. The first connection determines the folders and
// the position encoding, which all connections share.
func (s *server) join(core *agentapi.Core) {
	if core.Host.Clients().Join() {
		core.Workspace.SetEncoding(workspace.UTF16)
		if s.link.Client.UTF8 {
			core.Workspace.SetEncoding(workspace.UTF8)
		}
		core.Workspace.SetRoots(s.link.Client.Folders)
	}
	s.core = core
	s.api.Open(core)
	s.detach = s.editor.Join(core)
	if s.link.Client.Claimed {
		s.subscribe()
	}
}

func (s *server) init(params conn.Object) agentapi.Init {
	in := agentapi.Init{
		Editor: s.peer, Roots: s.link.Client.Folders,
		WholeFolders: s.link.Client.Claims.WholeFolders,
	}
	if options := params["initializationOptions"]; options.Kind() == '{' {
		in.InitializationOptions = json.RawMessage(append([]byte(nil), options...))
	}
	return in
}

// capabilities returns the result of initialize.
func (s *server) capabilities() any {
	encoding := "utf-16"
	if s.link.Client.UTF8 {
		encoding = "utf-8"
	}
	caps := map[string]any{
		"positionEncoding": encoding,
		"textDocumentSync": map[string]any{
			"openClose": true,
			"change":    2,
			"save":      map[string]any{"includeText": false},
		},
		"workspace": s.workspaceCapabilities(),
		"codeActionProvider": map[string]any{
			"codeActionKinds": []string{"quickfix", "refactor", "source"},
		},
		"executeCommandProvider": map[string]any{"commands": editor.CommandNames},
		"experimental": map[string]any{
			"agentLsp": wire.ServerCapability{
				Version: wire.Version, Methods: wire.Requests, Notifications: wire.Notifications,
				ServerRequests: wire.ServerRequests, EditPolicies: editPolicies,
				Limits: map[string]int{"maxFrameBytes": jsonrpc.MaxFrame},
			},
		},
	}
	if !s.link.Client.Claimed {
		caps["codeLensProvider"] = map[string]any{"resolveProvider": false}
	}
	return map[string]any{
		"capabilities": caps,
		"serverInfo":   map[string]any{"name": "agent-lsp", "version": s.opts.Version},
	}
}

func (s *server) workspaceCapabilities() map[string]any {
	everything := []any{map[string]any{"scheme": "file", "pattern": map[string]any{"glob": "**"}}}
	caps := map[string]any{
		"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true},
		"fileOperations":   map[string]any{"didRename": map[string]any{"filters": everything}},
	}
	if s.link.Client.Contents {
		caps["textDocumentContent"] = map[string]any{"schemes": editor.ContentSchemes}
	}
	return caps
}

// shutdownRequest makes the server refuse all later requests. It aborts running turns unless other
// clients use the same host.
func (s *server) shutdownRequest(ctx context.Context, _ []byte) (any, error) {
	s.life.phase.Store(ending)
	if h := s.api.Host(); !h.Clients().Shared() {
		h.AbortAll()
	}
	return nil, nil
}

func (s *server) exit([]byte) error {
	s.life.exited.Store(true)
	s.life.stop()
	return nil
}

// cancelRequest cancels the context of a request. The request may still succeed.
func (s *server) cancelRequest(raw []byte) error {
	s.link.Requests.Cancel(jsonrpc.IDFrom(conn.ObjectFrom(raw)["id"]), agentapi.ErrCancelled)
	return nil
}

// setTrace is accepted but has no effect, because the log already contains everything that a trace
// would show.
func (s *server) setTrace([]byte) error { return nil }

func (s *server) didChangeFolders(raw []byte) error {
	event := conn.ObjectFrom(raw).Object("event")
	removed := map[string]bool{}
	for _, f := range event.Objects("removed") {
		removed[f.String("uri")] = true
	}
	var folders []string
	for _, f := range s.link.Client.Folders {
		if !removed[f] {
			folders = append(folders, f)
		}
	}
	for _, f := range event.Objects("added") {
		if uri := f.String("uri"); uri != "" {
			folders = append(folders, uri)
		}
	}
	s.link.Client.Folders = folders
	s.core.Workspace.SetRoots(folders)
	if s.core.FoldersChanged != nil {
		s.core.FoldersChanged()
	}
	return nil
}
