package app

import (
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/hooks"
	"github.com/agent-lsp/agent-lsp/internal/host"
)

// externalHooks are the commands that the settings specify for certain points of a session. They
// are created again when those settings change, so that changed settings and newly granted trust
// take effect at the next point.
type externalHooks struct {
	d    *daemon
	info host.SessionInfo

	mu   sync.Mutex
	made bool
	key  string
	list []agent.Hook
}

// now returns the hooks of the current settings.
func (h *externalHooks) now() []agent.Hook {
	c := h.info.Config()
	h.mu.Lock()
	defer h.mu.Unlock()
	if key := fingerprint(c.Hooks) + fingerprint(c.Shell); !h.made || key != h.key {
		list, err := hooks.New(h.d.processes.runner, h.d.processes.hookConfigs(&c, h.current))
		if err != nil {
			h.d.notices.once(h.info, []string{err.Error()})
		}
		h.made, h.key, h.list = true, key, list
	}
	return h.list
}

// current applies changed settings files and returns the session's settings. It is called when a
// hook starts.
func (h *externalHooks) current() config.Config {
	h.d.settings.current()
	return h.info.Config()
}
