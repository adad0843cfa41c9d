// Package subagent provides the tool with which the model delegates work to other agents. The tool
// can run one agent, several in parallel, or a chain of agents. Each of these can run in the
// background.
//
// A sub-agent is a session with an empty history. The parent passes it only its task. Options.Child
// derives its permissions from the parent's, and they never exceed the parent's. The package starts
// no process and does not depend on settings. Start at New.
package subagent
