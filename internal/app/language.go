package app

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"

	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// diagnosticsWait is the maximum time that the result of an edit waits for diagnostics, unless the
// settings specify another time.
const diagnosticsWait = 3 * time.Second

// languageServers queries the editor's language servers, or those that the daemon starts.
type languageServers struct {
	hub       *langserver.Hub // set by open
	workspace *workspace.Workspace
	editor    host.Editor
	config    func() *config.Config
	processes *processRunner
	trust     *serverTrust
	secret    func(path string) bool
	withheld  func(session, tool, named, path string) bool
}

func (l *languageServers) open(w *workspace.Workspace) {
	l.workspace = w
	l.hub = langserver.New(langserver.Options{Workspace: w, Runner: l.processes.runner,
		Query: l.editorQuery, Servers: l.servers, AfterEdit: l.diagnosticsAfterEdit,
		Allow: l.trust.allow, Sandbox: l.trust.sandbox, Secret: l.secret,
		Withheld: l.withheld})
}

// tools returns a session's tools that query language servers.
func (l *languageServers) tools(set *tools.Set, sess tools.Session) []tool.Tool {
	return l.hub.Tools(func(ctx context.Context, call *tool.Call, title string,
		changes []workspace.Change) (*tool.Result, error) {
		if err := l.permit(ctx, call, title, changes); err != nil {
			return nil, err
		}
		return set.Propose(ctx, sess, call, title, changes)
	})
}

// editorQuery queries the editor's servers. If the editor cannot answer, the error is
// langserver.ErrNotOffered, and the hub queries the daemon's own servers.
func (l *languageServers) editorQuery(ctx context.Context,
	ask langserver.Question) (json.RawMessage, error) {
	q := host.EditorQuery{Operation: ask.Operation, URI: ask.URI, Query: ask.Query,
		Position: ask.Position}
	if s := ask.Settle; s != nil {
		q.Settle = &host.EditorSettle{URIs: s.URIs, Timeout: s.Timeout}
	}
	raw, err := l.editor.Query(ctx, q)
	if errors.Is(err, host.ErrUnsupported) {
		return nil, langserver.ErrNotOffered
	}
	return raw, err
}

// diagnosticsAfterEdit reports whether an edit waits for diagnostics, and for how long.
func (l *languageServers) diagnosticsAfterEdit() (bool, time.Duration) {
	c := l.config().Diagnostics
	if c == nil {
		return true, diagnosticsWait
	}
	return c.AfterEdit == nil || *c.AfterEdit, orDefault(c.WaitMs, diagnosticsWait)
}

// servers returns the servers in the settings, followed by those in the built-in table that the
// settings do not name.
func (l *languageServers) servers() []langserver.Config {
	own := l.config().LanguageServers
	env := l.processes.scrubbed()
	builtin := map[string]langserver.Config{}
	var out, rest []langserver.Config
	for _, c := range langserver.Builtin() {
		c.Env = withEnv(env, c.Offline)
		builtin[c.Name] = c
		if _, named := own[c.Name]; !named {
			rest = append(rest, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		c, known := builtin[name]
		if !known {
			c = langserver.Config{Name: name, Env: env}
		}
		out = append(out, l.configured(c, own[name]))
	}
	return append(out, rest...)
}

// configured returns the built-in table's entry for a server, overridden by the settings for the
// server with the same name.
func (l *languageServers) configured(c langserver.Config, s config.LSP) langserver.Config {
	if s.Command != "" {
		c.Command, c.Args = s.Command, s.Args
	} else if s.Args != nil {
		c.Args = s.Args
	}
	c.Env = append([]string(nil), c.Env...)
	c.Env = withEnv(c.Env, expandAll(s.Env, l.processes.env))
	if len(s.Extensions) > 0 {
		c.Languages = map[string]string{}
		for _, ext := range s.Extensions {
			ext = "." + strings.TrimPrefix(strings.ToLower(ext), ".")
			c.Languages[ext] = firstOf(s.LanguageID, langserver.LanguageOf(ext), ext[1:])
		}
	}
	if s.RootMarkers != nil {
		c.RootMarkers = s.RootMarkers
	}
	if s.InitializationOptions != nil {
		c.InitializationOptions = s.InitializationOptions
	}
	c.Settings, c.Disabled, c.Asked = s.Settings, s.Disabled, !s.Disabled
	return c
}

// beforeEdit returns the diagnostics that the editor shows before an edit is applied.
func (l *languageServers) beforeEdit(ctx context.Context, _ []string) any {
	return l.hub.BeforeEdit(ctx)
}

// afterEdit returns the text that the model gets in addition to the result of an applied edit. The
// text contains the errors that the edit caused, and the output of the check command from the
// settings.
func (l *languageServers) afterEdit(
	ctx context.Context,
	session string,
	paths []string,
	seen any,
) (string, error) {
	before, _ := seen.(langserver.Shown)
	broken := l.hub.AfterEdit(ctx, session, paths, before)
	checked, err := l.processes.check(ctx, paths)
	return strings.TrimSpace(broken + "\n" + checked), err
}

// filesChanged forwards the files that a command or another program changed on disk.
func (l *languageServers) filesChanged(paths []string) { l.hub.FilesChanged(paths) }
