// Package subagent is the tool with which the model delegates work to other agents: to one, to
// several in parallel, to a chain, or to one in the background.
//
// A sub-agent is a session with an empty history. It receives only its task. Its permissions are
// derived from the parent's options by Options.Child and never exceed them. The package starts no
// process and does not know settings. Start at New.
package subagent
