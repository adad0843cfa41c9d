package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// diagnosticsWait is how long the result of an edit waits for diagnostics unless the settings say otherwise.
const diagnosticsWait = 3 * time.Second

// openLanguage makes what asks language servers: the editor's own, else such as the daemon starts.
func (d *daemon) openLanguage() *langserver.Hub {
	return langserver.New(langserver.Options{Workspace: d.workspace, Runner: d.runner, Query: d.editorQuery, Servers: d.languageServers, AfterEdit: d.diagnosticsAfterEdit})
}

// languageTools are a session's tools that ask language servers.
func (d *daemon) languageTools(sess tools.Session) []agent.Tool {
	return d.language.Tools(func(ctx context.Context, call *agent.Call, title string, changes []workspace.Change) (*agent.Result, error) {
		return d.tools.Propose(ctx, sess, call, title, changes)
	})
}

// editorQuery asks the editor's own servers. Where it has none for a question, the daemon's own are asked.
func (d *daemon) editorQuery(ctx context.Context, ask langserver.Question) (json.RawMessage, error) {
	q := wire.EditorQueryParams{Operation: ask.Operation, URI: ask.URI, Query: ask.Query}
	if at := ask.Position; at != nil {
		q.Position = &wire.Position{Line: at.Line, Character: at.Character}
	}
	if s := ask.Settle; s != nil {
		q.Settle = &wire.EditorSettle{URIs: append([]string{}, s.URIs...), TimeoutMs: int(s.Timeout.Milliseconds())}
	}
	raw, err := d.peer.EditorQuery(ctx, q)
	var answer *jsonrpc2.Error
	if errors.Is(err, rpc.ErrUnsupported) || errors.As(err, &answer) && answer.Code == jsonrpc2.MethodNotFound {
		return nil, langserver.ErrNotOffered
	}
	return raw, err
}

// diagnosticsAfterEdit says whether and how long an edit waits for diagnostics.
func (d *daemon) diagnosticsAfterEdit() (bool, time.Duration) {
	c := d.config().Diagnostics
	if c == nil {
		return true, diagnosticsWait
	}
	return c.AfterEdit == nil || *c.AfterEdit, orDefault(c.WaitMs, diagnosticsWait)
}

// languageServers are the servers of the settings, then those of the built-in table that they do not name.
func (d *daemon) languageServers() []langserver.Config {
	own := d.config().LanguageServers
	env := d.scrubbed()
	builtin := map[string]langserver.Config{}
	var out, rest []langserver.Config
	for _, c := range langserver.Builtin() {
		c.Env = env
		builtin[c.Name] = c
		if _, named := own[c.Name]; !named {
			rest = append(rest, c)
		}
	}
	for _, name := range sortedKeys(own) {
		c, known := builtin[name]
		if !known {
			c = langserver.Config{Name: name, Env: env}
		}
		out = append(out, d.languageServer(c, own[name]))
	}
	return append(out, rest...)
}

// languageServer lays a server of the settings over what the built-in table has of that name.
func (d *daemon) languageServer(c langserver.Config, s wire.LSP) langserver.Config {
	if s.Command != "" {
		c.Command, c.Args = s.Command, s.Args
	} else if s.Args != nil {
		c.Args = s.Args
	}
	c.Env = append([]string(nil), c.Env...)
	c.Env = withEnv(c.Env, expandAll(s.Env, d.env))
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

// beforeEdit is what the editor shows before an edit is applied.
func (d *daemon) beforeEdit(ctx context.Context, _ []string) any { return d.language.BeforeEdit(ctx) }

// afterEdit is what the model is told of an applied edit: what it broke, and the settings' own check.
func (d *daemon) afterEdit(ctx context.Context, paths []string, seen any) (string, error) {
	before, _ := seen.(langserver.Shown)
	broken := d.language.AfterEdit(ctx, paths, before)
	checked, err := d.check(ctx, paths)
	return strings.TrimSpace(broken + "\n" + checked), err
}

// filesChanged passes on what a command or somebody else changed on disk.
func (d *daemon) filesChanged(paths []string) { d.language.FilesChanged(paths) }
