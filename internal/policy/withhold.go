package policy

import "github.com/agent-lsp/agent-lsp/internal/agent/tool"

// Withholds reports whether a call of a tool must leave out a file that it found, because the rules
// about reading the file are stricter than those about the file or folder that the call names. The
// user was not asked about the file. named is "" if the call names none.
func (e *Engine) Withholds(session, toolName, named, path string) bool {
	e.mu.Lock()
	s := e.settings(session)
	all := append([]Rule(nil), s.Rules...)
	for _, g := range e.grants {
		if e.holds(g, session, s) {
			all = append(all, g.rules()...)
		}
	}
	e.mu.Unlock()
	rules, _ := about(all, tool.SubjectRead, toolName)
	action := func(path string) Action {
		r := strictest(rules, func(r *Rule) bool { return r.matchPath(path, s.Roots) })
		if path == "" || r == nil {
			return Allow
		}
		return r.Action
	}
	return action(path) > action(named)
}
