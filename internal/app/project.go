package app

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"

	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/project"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// openProject returns the reader for the instructions, commands and agents of the repository and
// the user. It does not read the repository while held returns true.
func (d *daemon) openProject(held func() bool) *project.Project {
	return project.New(project.Options{
		Root: d.folders.root, UserDir: filepath.Dir(UserFile(d.processes.env)),
		Held: held,
		Secret: func(path string) bool {
			return policy.SecretIn([]string{d.folders.root}, path)
		},
	})
}

// instructions returns the project's instructions for the system prompt of a session.
func (d *daemon) instructions(info host.SessionInfo) string {
	var rules project.Rules
	if c := info.Config(); c.Project != nil {
		rules = project.Rules{Names: c.Project.Instructions, MaxBytes: c.Project.MaxBytes}
	}
	files, notices := d.project.Instructions(info.Cwd, rules)
	d.notices.once(info, notices)
	return project.System(files)
}

// listCommands lists the command templates of the project and the user, and the prompts of the MCP
// servers.
func (d *daemon) listCommands(ctx context.Context) ([]wire.SlashCommand, error) {
	out := []wire.SlashCommand{}
	commands, _ := d.project.Commands()
	for _, c := range commands {
		out = append(out, wire.SlashCommand{Name: c.Name, Description: c.Description, Hint: c.Hint,
			Source: c.Source})
	}
	for _, p := range d.mcp.hub.Prompts(ctx) {
		out = append(out, wire.SlashCommand{Name: p.Server + ":" + p.Name,
			Description: p.Description, Hint: strings.Join(p.Args, " "), Source: "mcp:" + p.Server})
	}
	return out, nil
}

// expand expands the command at the beginning of a prompt. It returns false if there is no such
// command or it cannot be expanded.
func (d *daemon) expand(ctx context.Context, _, text string) (string, bool) {
	if expanded, ok := d.project.Expand(text); ok {
		return expanded, true
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	server, prompt, ok := strings.Cut(name, ":")
	if !ok || !strings.HasPrefix(text, "/") {
		return "", false
	}
	d.mcp.start()
	expanded, err := d.mcp.hub.Expand(ctx, server, prompt, strings.Fields(rest))
	return expanded, err == nil
}

// fileAgents returns the agents that Markdown files define. A file cannot give an agent more
// permissions than its parent has. An agent from the workspace may make at most as many model calls
// as its parent.
func (d *daemon) fileAgents(info host.SessionInfo, maxCalls int) []subagent.Agent {
	files, _ := d.project.Agents()
	var out []subagent.Agent
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f.Path), ".md")
		a, err := subagent.ParseAgent(name, []byte(f.Text))
		if err != nil {
			d.notices.once(info, []string{"agent file " + f.Path + ": " + err.Error()})
			continue
		}
		if !filepath.IsAbs(f.Path) && a.MaxCalls != 0 && maxCalls > 0 &&
			(a.MaxCalls < 0 || a.MaxCalls > maxCalls) {
			a.MaxCalls = 0 // the parent's limit
		}
		out = append(out, a)
	}
	return out
}

// infoForListing returns session information for listing tools without a session.
func infoForListing(d *daemon) host.SessionInfo {
	return host.SessionInfo{ID: "listing", Cwd: d.folders.root,
		Config: func() config.Config { return *d.settings.config() },
		Notice: func(string, string) {}}
}
