package conn

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Client contains the information about the client from initialize.
type Client struct {
	Name       string
	Claimed    bool // has capabilities.experimental.agentLsp
	Claims     wire.ClientCapability
	Features   workspace.ClientFeatures
	UTF8       bool
	Folders    []string
	Configures bool
	Progress   bool
	Lenses     bool // workspace/codeLens/refresh
	Actions    bool // textDocument/codeAction
	Literals   bool // supports code action literals, not only commands
	Contents   bool // workspace/textDocumentContent
	Documents  bool // window/showDocument
	Registers  bool // supports dynamic registration of workspace/didChangeConfiguration
	Passive    bool // announces no server requests, so the client may be unable to show questions
}

// ClientFrom decodes the params of initialize field by field, so that one wrong field does not
// prevent a connection.
func ClientFrom(params Object) Client {
	caps := params.Object("capabilities")
	edit := caps.Object("workspace").Object("workspaceEdit")
	c := Client{
		Name:       params.Object("clientInfo").String("name"),
		Claimed:    caps.Object("experimental").Object("agentLsp") != nil,
		Configures: caps.Object("workspace").Bool("configuration"),
		Progress:   caps.Object("window").Bool("workDoneProgress"),
		Lenses:     caps.Object("workspace").Object("codeLens").Bool("refreshSupport"),
		Actions:    caps.Object("textDocument").Has("codeAction"),
		Literals: caps.Object("textDocument").
			Object("codeAction").
			Has("codeActionLiteralSupport"),
		Contents:  caps.Object("workspace").Has("textDocumentContent"),
		Documents: caps.Object("window").Object("showDocument").Bool("support"),
		Registers: caps.Object("workspace").
			Object("didChangeConfiguration").
			Bool("dynamicRegistration"),
		Passive: !caps.Has("window") && !caps.Object("workspace").Bool("applyEdit"),
		Folders: foldersFrom(params),
		Features: workspace.ClientFeatures{
			DocumentChanges:   edit.Bool("documentChanges"),
			ChangeAnnotations: edit.Has("changeAnnotationSupport"),
		},
	}
	for _, op := range edit.Strings("resourceOperations") {
		switch op {
		case "create":
			c.Features.Create = true
		case "rename":
			c.Features.Rename = true
		case "delete":
			c.Features.Delete = true
		}
	}
	c.Features.WritesNew = c.Name == "acp" && c.Features.Create
	c.Features.FirstVersionOnly = c.Name == "Neovim"
	c.Features.IdleChanges = isEglot(c.Name, caps)
	for _, e := range caps.Object("general").Strings("positionEncodings") {
		c.UTF8 = c.UTF8 || e == "utf-8"
	}
	c.Claims = claimsFrom(caps.Object("experimental").Object("agentLsp"))
	return c
}

// isEglot recognizes eglot, which does not send a name before version 1.9. eglot's requests block
// Emacs, and it sends didChange only when Emacs is idle again.
func isEglot(name string, caps Object) bool {
	if name == "" {
		return caps["experimental"].Kind() == '{' && len(caps.Object("experimental")) == 0 &&
			!caps.Has("window") &&
			!caps.Has("general")
	}
	return strings.EqualFold(name, "eglot")
}

func claimsFrom(o Object) wire.ClientCapability {
	editor := o.Object("editor")
	return wire.ClientCapability{
		Version: o.Int("version"), Permission: o.Bool("permission"), Ask: o.Bool("ask"),
		WholeFolders: o.Bool("wholeFolders"),
		Editor: wire.EditorCapability{
			Query: editor.Bool("query"), Save: editor.Bool("save"),
			Reveal: editor.Bool("reveal"), ShowDiff: editor.Bool("showDiff"),
			Open: editor.Bool("open"),
		},
	}
}

// foldersFrom prefers workspaceFolders over rootUri over rootPath, as LSP specifies.
func foldersFrom(params Object) []string {
	var folders []string
	for _, f := range params.Objects("workspaceFolders") {
		if uri := f.String("uri"); uri != "" {
			folders = append(folders, uri)
		}
	}
	if len(folders) > 0 {
		return folders
	}
	if uri := params.String("rootUri"); uri != "" {
		return []string{uri}
	}
	if path := params.String("rootPath"); path != "" {
		return []string{path}
	}
	return nil
}
