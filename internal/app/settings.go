package app

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

// settings are the settings of the connection, and whether the workspace may loosen them.
type settings struct {
	live     *config.Live
	trust    *config.TrustFile
	root     string
	notices  *notices
	changed  func() // puts changed settings into effect; set by newCore
	trusting trusting
}

// loadSettings reads the layers that exist before a session has settings of its own.
func loadSettings(f *folders, env []string, init agentapi.Init, warn *notices) *settings {
	s := &settings{trust: config.NewTrustFile(f.file("trust.json")), root: f.root,
		notices: warn}
	trusted, _ := s.trust.Trusts(f.root)
	s.live = config.NewLive(config.Sources{
		UserFile: UserFile(env), Root: f.root, Environ: env, Trusted: trusted && f.root != "",
	}, init.InitializationOptions)
	return s
}

// config is the configuration without a session's own.
func (s *settings) config() *config.Config { return s.live.Set().Config() }

// trusting is the one question of a daemon whether the workspace is trusted.
type trusting struct {
	turn chan struct{} // holds the right to ask; made by once
	once sync.Once
	held string // what was asked about last
}

// askTrust asks the user whether what the workspace's own settings want may count: once, and again when they
// want more. A session that comes meanwhile waits for the answer.
func (s *settings) askTrust(ctx context.Context, p *policy.Engine, sessionID string) {
	t := &s.trusting
	t.once.Do(func() { t.turn = make(chan struct{}, 1) })
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return
	}
	held := strings.Join(s.live.Set().NeedsTrust(), ", ")
	if held == "" || held == t.held || s.root == "" {
		return
	}
	t.held = held
	trusted, err := p.AskTrust(ctx, s.trust, sessionID, s.root, config.WorkspaceName+" sets "+held)
	if err != nil {
		s.notices.send("warning", err.Error())
	}
	if trusted {
		s.live.Trust(true)
		s.changed()
	}
}

// UserFile is the user's file of settings.
func UserFile(env []string) string {
	if f := Lookup(env, "AGENT_LSP_CONFIG"); f != "" {
		return f
	}
	if dir := Lookup(env, "XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "agent-lsp", "config.json")
	}
	return config.DefaultUserFile()
}
