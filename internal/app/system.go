package app

import (
	"runtime"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// defaultPrompt is the built-in system prompt. It is short, because it is sent with every model
// call.
const defaultPrompt = `You are a coding agent in the user's editor. You see the files as the editor shows them, including unsaved changes.

- Read what you edit before you change it. Search instead of guessing.
- Edits are proposals. The user may accept, change or refuse each hunk; the result reports the decision. Continue from there and do not propose a refused change again.
- Make the smallest change that does the whole job, in the style of the code around it. Do not touch what was not asked for.
- If the project has tests or a build, run them to check your work.
- Use the file tools to read and edit, not the shell. Call independent tools together.
- If a command is refused, find another way or say what you need.
- When you are done, say in a few sentences what changed and what you could not verify. No filler.`

// systemBlocks returns the system prompt of a session. The parts that never change come first, so
// that the provider's cache stays valid.
func systemBlocks(c *config.Config, cwd, project, mode string,
	started time.Time) []agent.SystemBlock {
	base := c.SystemPrompt
	if base == "" {
		base = defaultPrompt
	}
	blocks := []agent.SystemBlock{{Text: base + "\n\n" + environmentText(cwd, started)}}
	for _, text := range []string{project, c.Instructions, mode} {
		if text = strings.TrimSpace(text); text != "" {
			blocks = append(blocks, agent.SystemBlock{Text: text})
		}
	}
	blocks[len(blocks)-1].Cache = true
	return blocks
}

// environmentText describes the environment in which the agent works. The date is the day on which
// the session started, so the text does not change within a session.
func environmentText(cwd string, started time.Time) string {
	return "Working directory: " + cwd + "\nSystem: " + runtime.GOOS + "/" + runtime.GOARCH +
		"\nDate: " + started.Format("2006-01-02")
}
