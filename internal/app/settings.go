package app

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

// settings contains the settings of the connection, and whether the workspace may loosen them.
type settings struct {
	live     *config.Live
	trust    *config.TrustFile
	root     string
	notices  *notices
	changed  func() // applies changed settings; set by newCore
	trusting trusting
}

// loadSettings reads the layers that exist before a session has settings of its own.
func loadSettings(f *folders, env []string, init agentapi.Init, warn *notices) *settings {
	s := &settings{trust: config.NewTrustFile(f.file("trust.json")), root: f.root,
		notices: warn}
	s.live = config.NewLive(config.Sources{
		UserFile: UserFile(env), Root: f.root, Environ: env, Trust: s.trust,
	}, init.InitializationOptions)
	return s
}

// config returns the configuration without a session's own settings.
func (s *settings) config() *config.Config { return s.live.Set().Config() }

// current applies changed files and returns the settings without a session's own. It is called
// before each model call and before each start of a program that settings name, so that a change
// revokes the user's trust immediately.
func (s *settings) current() *config.Config { return s.refresh().Config() }

// refresh is like current, but returns the whole Set.
func (s *settings) refresh() *config.Set {
	set, news := s.live.Changed()
	if news {
		s.changed()
	}
	return set
}

// claimsKeyCommand reports whether settings that are not the user's own name a command that prints
// a key.
func (s *settings) claimsKeyCommand(argv []string) bool {
	for _, claim := range s.live.Set().Claims() {
		for _, c := range claim.Settings {
			var own config.Config
			text, err := json.Marshal(map[string]any{c.Path: c.Value})
			if err == nil && json.Unmarshal(text, &own) == nil && namesKeyCommand(&own, argv) {
				return true
			}
		}
	}
	return false
}

// trusting manages the question of whether the workspace is trusted. A daemon asks it once, and
// again if the claims change.
type trusting struct {
	turn  chan struct{} // semaphore, held while the user is asked; created by once
	once  sync.Once
	asked string // digests of the values that the last question showed
}

// askTrust asks the user whether the claims of the workspace's own settings may take effect. It
// asks once, and again if the claims change. A session that arrives while the question is open
// waits for the answer. now contains the current settings. askTrust returns the settings after the
// answer.
func (s *settings) askTrust(ctx context.Context, now *config.Set, p *policy.Engine,
	sessionID string) *config.Set {
	if len(now.NeedsTrust()) == 0 || s.root == "" {
		return now
	}
	t := &s.trusting
	t.once.Do(func() { t.turn = make(chan struct{}, 1) })
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return now
	}
	set := s.refresh()
	if len(set.NeedsTrust()) == 0 { // another session's user has answered
		return set
	}
	c := claims{s.trust, set.Untrusted()}
	if len(c.list) == 0 || c.digests() == t.asked {
		return set
	}
	t.asked = c.digests()
	trusted, err := p.AskTrust(ctx, c, policy.TrustSettings(sessionID, s.root, c.text()))
	if err != nil {
		s.notices.send("warning", err.Error())
	}
	if trusted {
		return s.refresh()
	}
	return set
}

// claims contains the claims that a question about trust shows. The answer is stored for exactly
// the contents that were shown, even if the files have changed in the meantime.
type claims struct {
	file *config.TrustFile
	list []config.Claim
}

var _ policy.TrustStore = claims{}

// Trusts implements policy.TrustStore.
func (c claims) Trusts(root string) (trusted, asked bool) {
	answer := c.file.Answer(root)
	if answer.Refused {
		return false, true
	}
	trusted = !slices.ContainsFunc(c.list, func(x config.Claim) bool { return !answer.Covers(x) })
	return trusted, trusted
}

// Set implements policy.TrustStore.
func (c claims) Set(root string, trusted bool) error {
	if !trusted {
		return c.file.Refuse(root)
	}
	return c.file.Allow(root, c.list)
}

func (c claims) digests() string {
	var b strings.Builder
	for _, x := range c.list {
		fmt.Fprintf(&b, "%s %s %s\n", x.Layer, x.Digest, x.Keys())
	}
	return b.String()
}

func (c claims) text() string {
	var b strings.Builder
	for _, x := range c.list {
		_ = x.Write(&b) // a strings.Builder does not fail
	}
	return b.String()
}

// UserFile returns the path of the user's settings file.
func UserFile(env []string) string {
	if f := Lookup(env, "AGENT_LSP_CONFIG"); f != "" {
		return f
	}
	if dir := Lookup(env, "XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "agent-lsp", "config.json")
	}
	return config.DefaultUserFile()
}
