package shell

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// A session's next command probably runs in a sandbox like that of its last command. A waiting
// supervisor prepares this sandbox in advance, so that the command does not wait for it.

// prepareSandbox makes a waiting supervisor prepare the sandbox of a plan, unless another
// supervisor has prepared one for the session. The caller holds mu.
func (r *Runner) prepareSandbox(h *helper, plan *sandbox.Plan) {
	if !plan.Prepares() || len(r.idle) == 0 || r.idle[len(r.idle)-1] != h {
		return
	}
	for _, o := range r.idle {
		if o.ahead != nil && o.ahead.Session == plan.Session {
			return
		}
	}
	line, err := json.Marshal(order{Prepare: true, Sandbox: &sandbox.Plan{
		Kind: plan.Kind, Prefix: plan.Prefix, Session: plan.Session,
	}})
	if err != nil || h.control.send(append(line, '\n'), nil) != nil {
		return // the next command reports the error
	}
	h.ahead = plan
}

// takeIdle returns the waiting supervisor that suits a command best, or nil if the command needs a
// new one.
func (r *Runner) takeIdle(plan *sandbox.Plan) *helper {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *helper
	for _, h := range r.idle {
		if best == nil || suits(h, plan) > suits(best, plan) ||
			suits(h, plan) == suits(best, plan) &&
				suits(h, plan) > 0 { // the supervisor that was idle for the shortest time
			best = h
		}
	}
	if best == nil || suits(best, plan) == 0 && len(r.idle) < r.maxIdle {
		return nil // a new one costs less than the sandbox that this one has prepared
	}
	r.drop(best)
	return best
}

// suits ranks a waiting supervisor. The best one has prepared the sandbox of the command. The
// second best has prepared another sandbox for the same session. That sandbox ends before the
// command starts, so that a session has at most one prepared sandbox and the folder of its layers
// is free. The third has prepared no sandbox, and the last has prepared one for another session.
func suits(h *helper, plan *sandbox.Plan) int {
	switch {
	case h.ahead == nil:
		return 1
	case plan == nil || h.ahead.Session != plan.Session:
		return 0
	case h.ahead.Same(plan):
		return 3
	}
	return 2
}

// Forget discards the sandbox that is prepared for a session, if there is one. session is the
// session's name in the plans of its commands.
func (r *Runner) Forget(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.idle {
		if h.ahead != nil && h.ahead.Session == session {
			r.drop(h)
			h.control.Close()
			return
		}
	}
}
