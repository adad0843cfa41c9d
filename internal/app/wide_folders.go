package app

import (
	"context"
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// wideFolders manages the question of whether the home folder, a folder that contains it, or the
// root of the file system may be the workspace. A daemon has one wideFolders.
type wideFolders struct {
	turn  chan struct{}   // semaphore, held while the user is asked
	asked map[string]bool // folders that the user was asked about; guarded by turn
}

func newWideFolders() wideFolders {
	return wideFolders{turn: make(chan struct{}, 1), asked: map[string]bool{}}
}

// askFolders asks the user once about each workspace folder that needs the user's consent. If no
// client can ask, these folders stay blocked. A session that arrives while a question is open waits
// for the answer.
func (d *daemon) askFolders(ctx context.Context, info host.SessionInfo) {
	if len(d.workspace.HeldFolders()) == 0 {
		return
	}
	w := d.shared.wide
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return
	}
	for _, folder := range d.workspace.HeldFolders() {
		if w.asked[folder] {
			continue
		}
		what := TooLarge(folder, d.processes.env)
		allowed, err := d.policy.AskFolder(ctx, info.ID, folder, what)
		if err != nil {
			return // the turn was aborted, so the next one asks again
		}
		w.asked[folder] = true
		if allowed {
			d.workspace.AllowFolder(folder)
			d.mcp.hub.RootsChanged()
			continue
		}
		d.notices.once(info, []string{fmt.Sprintf("%s is %s and was not allowed as the workspace. "+
			"The agent can use only its files that are open in the editor and cannot run "+
			"commands in it. Open a project folder, restart agent-lsp to be asked again, or "+
			"start it with --whole-folder.", folder, what)})
	}
}

// TooLarge describes a folder that is unlikely to be a workspace: the home folder, a folder that
// contains it, or the root of the file system. It returns "" for any other folder.
func TooLarge(dir string, env []string) string {
	return workspace.WideFolder(dir, homeFolder(env))
}

// homeFolder returns the user's home folder, or "".
func homeFolder(env []string) string {
	return firstOf(Lookup(env, "HOME"), Lookup(env, "USERPROFILE"))
}
