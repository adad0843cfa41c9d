package app

import (
	"slices"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/config"
)

// gopls and rust-analyzer download nothing that a repository names, unless the user's settings for
// the server say so.
func TestServersAreOffline(t *testing.T) {
	for _, c := range []struct{ server, name, value, own string }{
		{"gopls", "GOPROXY", "off", ""},
		{"gopls", "GOPROXY", "https://p.example", "https://p.example"},
		{"gopls", "GONOPROXY", "none", ""},
		{"rust-analyzer", "CARGO_NET_OFFLINE", "true", ""},
		{"rust-analyzer", "CARGO_NET_OFFLINE", "false", "false"},
	} {
		settings := &config.Config{Environment: &config.ChildEnvironment{Pass: []string{c.name}}}
		if c.own != "" {
			settings.LanguageServers = map[string]config.LSP{
				c.server: {Env: map[string]string{c.name: c.own}},
			}
		}
		get := func() *config.Config { return settings }
		l := &languageServers{config: get, processes: &processRunner{
			env: []string{"PATH=/usr/bin", c.name + "=other"}, config: get,
		}}
		found := false
		for _, s := range l.servers() {
			if s.Name != c.server {
				continue
			}
			found = slices.Contains(s.Env, c.name+"="+c.value) &&
				!slices.Contains(s.Env, c.name+"=other")
		}
		if !found {
			t.Errorf("%s is not started with %s=%s", c.server, c.name, c.value)
		}
	}
}
