package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// LSP methods of the lifecycle and of documents that the router names.
const (
	methodInitialize    = "initialize"
	methodInitialized   = "initialized"
	methodShutdown      = "shutdown"
	methodExit          = "exit"
	methodCancel        = "$/cancelRequest"
	methodSetTrace      = "$/setTrace"
	methodDidOpen       = "textDocument/didOpen"
	methodDidChange     = "textDocument/didChange"
	methodDidSave       = "textDocument/didSave"
	methodDidClose      = "textDocument/didClose"
	methodDidFolders    = "workspace/didChangeWorkspaceFolders"
	methodDidConfigure  = "workspace/didChangeConfiguration"
	methodExecute       = "workspace/executeCommand"
	methodCancelTask    = "window/workDoneProgress/cancel"
	methodApplyEdit     = "workspace/applyEdit"
	methodShowMessage   = "window/showMessage"
	methodAskMessage    = "window/showMessageRequest"
	methodLogMessage    = "window/logMessage"
	methodConfiguration = "workspace/configuration"
	methodProgress      = "$/progress"
	methodCodeLens      = "textDocument/codeLens"
	methodCodeAction    = "textDocument/codeAction"
	methodDiagnostics   = "textDocument/publishDiagnostics"
	methodRefreshLenses = "workspace/codeLens/refresh"
	methodShowDocument  = "window/showDocument"
	methodNewProgress   = "window/workDoneProgress/create"
	methodRegister      = "client/registerCapability"
	methodDidWatch      = "workspace/didChangeWatchedFiles"
	methodDidRename     = "workspace/didRenameFiles"

	methodContent        = "workspace/textDocumentContent"
	methodRefreshContent = "workspace/textDocumentContent/refresh"
)

// editPolicies are what Config.editPolicy may be.
var editPolicies = []string{"ask", "review", "collect", "auto", "confirm"}

// client is what is known of the client since initialize.
type client struct {
	name       string
	claimed    bool // capabilities.experimental.agentLsp is there
	claims     wire.ClientCapability
	features   workspace.ClientFeatures
	utf8       bool
	folders    []string
	configures bool
	progress   bool
	lenses     bool // workspace/codeLens/refresh
	actions    bool // textDocument/codeAction
	literals   bool // code actions may be more than commands
	contents   bool // workspace/textDocumentContent
	documents  bool // window/showDocument
	registers  bool // workspace/didChangeConfiguration can be registered
	passive    bool // announces nothing that a server may request, so it may show no question
}

// initialize answers with what the server can do. It reads its params field by field,
// because a client that gets one of them wrong should still be served.
func (s *server) initialize(ctx context.Context, raw []byte) (any, error) {
	if s.core != nil {
		return nil, agentapi.Fail(wire.CodeInvalidRequest, "initialize was sent twice")
	}
	params := objectFrom(raw)
	if params == nil {
		return nil, agentapi.Fail(wire.CodeInvalidParams, "params: initialize needs an object")
	}
	s.client = clientFrom(params)
	core, err := s.opts.Start(s.ctx, s.init(params))
	if err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	s.join(core)
	if s.client.features.IdleChanges {
		s.nudger.Store(&nudger{s: s})
	}
	s.watchParent(params.int("processId"))
	s.phase.Store(running)
	return s.capabilities(), nil
}

// join makes the connection one of the host's clients. The first one decides about the folders and
// the encoding of positions, which all share.
func (s *server) join(core *agentapi.Core) {
	if core.Host.Join() {
		core.Workspace.SetEncoding(workspace.UTF16)
		if s.client.utf8 {
			core.Workspace.SetEncoding(workspace.UTF8)
		}
		core.Workspace.SetRoots(s.client.folders)
	}
	s.core = core
	s.api.Open(core)
	s.detach = append(s.detach, core.Host.Questions().Attach(s.peer))
	s.detach = append(s.detach, core.Host.WatchProposals(func(e workspace.ProposalEvent) {
		s.hints.proposalChanged(e.Proposal)
		s.views.changed(e.Proposal.ID)
	}))
	if !s.client.claimed {
		s.servePlain()
		return
	}
	s.subscribe()
	if s.client.claims.Editor.Reveal {
		s.detach = append(s.detach, core.Host.Watch((&follower{s: s}).watch))
	}
}

func (s *server) init(params object) agentapi.Init {
	in := agentapi.Init{
		Editor: s.peer, Roots: s.client.folders,
	}
	if options := params["initializationOptions"]; options.Kind() == '{' {
		in.InitializationOptions = json.RawMessage(append([]byte(nil), options...))
	}
	return in
}

func clientFrom(params object) client {
	caps := params.object("capabilities")
	edit := caps.object("workspace").object("workspaceEdit")
	c := client{
		name:       params.object("clientInfo").string("name"),
		claimed:    caps.object("experimental").object("agentLsp") != nil,
		configures: caps.object("workspace").bool("configuration"),
		progress:   caps.object("window").bool("workDoneProgress"),
		lenses:     caps.object("workspace").object("codeLens").bool("refreshSupport"),
		actions:    caps.object("textDocument").has("codeAction"),
		literals:   caps.object("textDocument").object("codeAction").has("codeActionLiteralSupport"),
		contents:   caps.object("workspace").has("textDocumentContent"),
		documents:  caps.object("window").object("showDocument").bool("support"),
		registers:  caps.object("workspace").object("didChangeConfiguration").bool("dynamicRegistration"),
		passive:    !caps.has("window") && !caps.object("workspace").bool("applyEdit"),
		folders:    foldersFrom(params),
		features: workspace.ClientFeatures{
			DocumentChanges:   edit.bool("documentChanges"),
			ChangeAnnotations: edit.has("changeAnnotationSupport"),
		},
	}
	for _, op := range edit.strings("resourceOperations") {
		switch op {
		case "create":
			c.features.Create = true
		case "rename":
			c.features.Rename = true
		case "delete":
			c.features.Delete = true
		}
	}
	c.features.WritesNew = c.name == "acp" && c.features.Create
	c.features.FirstVersionOnly = c.name == "Neovim"
	c.features.IdleChanges = isEglot(c.name, caps)
	for _, e := range caps.object("general").strings("positionEncodings") {
		c.utf8 = c.utf8 || e == "utf-8"
	}
	c.claims = claimsFrom(caps.object("experimental").object("agentLsp"))
	return c
}

// isEglot recognises eglot, which until 1.9 gives no name. Its requests block Emacs, and it sends
// didChange only when Emacs is idle again.
func isEglot(name string, caps object) bool {
	if name == "" {
		return caps["experimental"].Kind() == '{' && len(caps.object("experimental")) == 0 && !caps.has("window") && !caps.has("general")
	}
	return strings.EqualFold(name, "eglot")
}

func claimsFrom(o object) wire.ClientCapability {
	editor := o.object("editor")
	return wire.ClientCapability{
		Version: o.int("version"), Permission: o.bool("permission"), Ask: o.bool("ask"),
		Editor: wire.EditorCapability{
			Query: editor.bool("query"), Save: editor.bool("save"),
			Reveal: editor.bool("reveal"), ShowDiff: editor.bool("showDiff"),
			Open: editor.bool("open"),
		},
	}
}

// foldersFrom prefers workspaceFolders over rootUri over rootPath, as LSP says.
func foldersFrom(params object) []string {
	var folders []string
	for _, f := range params.objects("workspaceFolders") {
		if uri := f.string("uri"); uri != "" {
			folders = append(folders, uri)
		}
	}
	if len(folders) > 0 {
		return folders
	}
	if uri := params.string("rootUri"); uri != "" {
		return []string{uri}
	}
	if path := params.string("rootPath"); path != "" {
		return []string{path}
	}
	return nil
}

// capabilities is the result of initialize.
func (s *server) capabilities() any {
	encoding := "utf-16"
	if s.client.utf8 {
		encoding = "utf-8"
	}
	caps := map[string]any{
		"positionEncoding":       encoding,
		"textDocumentSync":       map[string]any{"openClose": true, "change": 2, "save": map[string]any{"includeText": false}},
		"workspace":              s.workspaceCapabilities(),
		"codeActionProvider":     map[string]any{"codeActionKinds": []string{"quickfix", "refactor", "source"}},
		"executeCommandProvider": map[string]any{"commands": commandNames},
		"experimental": map[string]any{
			"agentLsp": wire.ServerCapability{
				Version: wire.Version, Methods: wire.Requests, Notifications: wire.Notifications,
				ServerRequests: wire.ServerRequests, EditPolicies: editPolicies,
				Limits: map[string]int{"maxFrameBytes": jsonrpc.MaxFrame},
			},
		},
	}
	if !s.client.claimed {
		caps["codeLensProvider"] = map[string]any{"resolveProvider": false}
	}
	return map[string]any{"capabilities": caps, "serverInfo": map[string]any{"name": "agent-lsp", "version": s.opts.Version}}
}

func (s *server) workspaceCapabilities() map[string]any {
	everything := []any{map[string]any{"scheme": "file", "pattern": map[string]any{"glob": "**"}}}
	caps := map[string]any{
		"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true},
		"fileOperations":   map[string]any{"didRename": map[string]any{"filters": everything}},
	}
	if s.client.contents {
		caps["textDocumentContent"] = map[string]any{"schemes": contentSchemes}
	}
	return caps
}

// shutdownRequest makes the server refuse everything but exit. What runs is aborted when
// exit comes, or at the end of input.
func (s *server) shutdownRequest(ctx context.Context, _ []byte) (any, error) {
	s.phase.Store(ending)
	if h := s.api.Host(); !h.Shared() {
		h.AbortAll()
	}
	return nil, nil
}

func (s *server) exit([]byte) error {
	s.exited.Store(true)
	s.stop()
	return nil
}

// cancelRequest ends the context of a request. Its answer may still be a result.
func (s *server) cancelRequest(raw []byte) error {
	s.inbounds.cancel(jsonrpc.IDFrom(objectFrom(raw)["id"]), agentapi.ErrCancelled)
	return nil
}

// setTrace is accepted: the log shows what a trace would.
func (s *server) setTrace([]byte) error { return nil }

func (s *server) didChangeFolders(raw []byte) error {
	event := objectFrom(raw).object("event")
	removed := map[string]bool{}
	for _, f := range event.objects("removed") {
		removed[f.string("uri")] = true
	}
	var folders []string
	for _, f := range s.client.folders {
		if !removed[f] {
			folders = append(folders, f)
		}
	}
	for _, f := range event.objects("added") {
		if uri := f.string("uri"); uri != "" {
			folders = append(folders, uri)
		}
	}
	s.client.folders = folders
	s.core.Workspace.SetRoots(folders)
	if s.core.FoldersChanged != nil {
		s.core.FoldersChanged()
	}
	return nil
}

// didChangeConfiguration takes the section agentLsp of pushed settings. A client that
// pushes nothing is asked for it.
func (s *server) didChangeConfiguration(raw []byte) error {
	section := objectFrom(raw).object("settings")[settingsSection]
	if section.Kind() == '{' {
		s.configured(json.RawMessage(append([]byte(nil), section...)))
		return nil
	}
	if !s.client.configures {
		return nil
	}
	s.goRun("reading the client's settings", s.pullSettings)
	return nil
}

func (s *server) configured(section json.RawMessage) {
	notices, err := s.core.Settings.ClientChanged(section)
	if err != nil {
		notices = append(notices, "settings: "+err.Error())
	}
	for _, n := range notices {
		s.peer.Message(messageWarning, n)
	}
	s.api.Host().Reconfigured()
}
