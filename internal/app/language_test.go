package app

import (
	"slices"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/config"
)

// gopls downloads nothing that a repository names, unless the user's settings for gopls say so.
func TestGoplsIsOffline(t *testing.T) {
	for want, own := range map[string]map[string]string{
		"GOPROXY=off": nil, "GOPROXY=https://p.example": {"GOPROXY": "https://p.example"},
	} {
		c := &config.Config{
			Environment:     &config.ChildEnvironment{Pass: []string{"GOPROXY"}},
			LanguageServers: map[string]config.LSP{"gopls": {Env: own}},
		}
		get := func() *config.Config { return c }
		l := &languageServers{config: get, processes: &processRunner{
			env: []string{"PATH=/usr/bin", "GOPROXY=https://other.example"}, config: get,
		}}
		for _, s := range l.servers() {
			if s.Name == "gopls" && (!slices.Contains(s.Env, want) ||
				slices.Contains(s.Env, "GOPROXY=https://other.example")) {
				t.Errorf("the environment of gopls lacks %s: %q", want, s.Env)
			}
		}
	}
}
