package policy

import (
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// Place is where a command runs once it is allowed (docs/use/permissions.md).
type Place string

// The values of Place. NoSandbox means that the system has no sandbox or that it is switched off.
const (
	Inside    Place = "inside"
	Outside   Place = "outside"
	NoSandbox Place = "none"
)

// allowOutside is the ID of the only option that lets a command leave the sandbox.
const allowOutside = "allow_outside"

// repositoryWriters are subcommands of git that write to .git, which is read-only in agent-lsp's
// own sandbox.
var repositoryWriters = words{list: "add am branch checkout cherry-pick clone commit fetch gc init merge " +
	"mv notes pull push rebase reset restore revert rm sparse-checkout stash submodule switch tag " +
	"update-index update-ref worktree"}

// place returns where a command would run, and the reason why it would leave the sandbox ("" if it
// would not). A command leaves the sandbox if the model asks for that. It also leaves agent-lsp's
// own sandbox if it writes to .git, unless the settings require the sandbox.
func (s Settings) place(m machine, sub *tool.Subject, c Classification) (Place, string) {
	why := "it would run outside the sandbox (" + string(m.box.Kind) + ")"
	switch {
	case !m.box.Available() || s.Sandbox == sandbox.Off:
		return NoSandbox, ""
	case sub.Unboxed:
		return Outside, why
	case m.box.Kind != sandbox.Own || s.Sandbox == sandbox.Require:
		return Inside, ""
	}
	if what := writesRepository(c); what != "" {
		return Outside, why + ": " + what + " writes to .git, which is read-only inside"
	}
	return Inside, ""
}

// writesRepository returns the first git command that writes to .git, such as "git commit", or ""
// if there is none.
func writesRepository(c Classification) string {
	for _, p := range c.Parts {
		if p.Class == ReadOnly || len(p.Words) < 2 || commandName(p.Words[0]) != "git" {
			continue
		}
		args := make([]arg, len(p.Words))
		for i, w := range p.Words {
			args[i].text = w
		}
		if i := gitSubcommand(args); i < len(args) && repositoryWriters.has(args[i].text) {
			return "git " + args[i].text
		}
	}
	return ""
}
