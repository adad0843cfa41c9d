// Package subagent is the tool by which the model hands work to agents of its own: one, several
// at once, a chain, or one in the background.
//
// A sub-agent is a session with an empty history; all it gets is its task. What it may do is
// derived from the parent's options by Options.Child, never more. The package starts no process
// and knows no settings. Start at New.
package subagent
