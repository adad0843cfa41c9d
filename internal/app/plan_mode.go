package app

import (
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/agent-lsp/agent-lsp/internal/policy"
)

// planApprovals contains the sessions whose plan the user approved. It is safe for concurrent use.
type planApprovals struct {
	mu    sync.Mutex
	modes map[string]string // the session's mode at the time of the approval, by session ID
}

func newPlanApprovals() *planApprovals { return &planApprovals{modes: map[string]string{}} }

func (a *planApprovals) approve(session, mode string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.modes[session] = mode
}

// approved reports whether the user approved a plan since the session's mode was set. A session
// that returns to plan mode later needs a new approval.
func (a *planApprovals) approved(session, mode string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	then, ok := a.modes[session]
	if ok && then != mode {
		delete(a.modes, session)
		return false
	}
	return ok
}

// inPlanMode reports whether the mode is the built-in plan mode.
func inPlanMode(c *config.Config) bool { return c.Mode == policy.PlanMode.Name }
