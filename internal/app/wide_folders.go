package app

import (
	"context"
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// wideFolders manages the question of whether the home folder, a folder that contains it, or the
// root of the file system may be the workspace. A daemon has one wideFolders.
type wideFolders struct {
	turn chan struct{} // semaphore, held while the user is asked
}

func newWideFolders() wideFolders { return wideFolders{turn: make(chan struct{}, 1)} }

// allowFolders allows every folder if the daemon was started so, and otherwise the first folders of
// a client that has already asked its user.
func (d *daemon) allowFolders(every bool, init agentapi.Init) {
	switch {
	case every:
		d.workspace.AllowEveryFolder()
	case init.WholeFolders:
		for _, folder := range init.Roots {
			d.workspace.AllowFolder(folder)
		}
	}
}

// askFolders asks the user about each workspace folder that needs the user's consent. It asks again
// about a refused folder only after the folder was removed and added. If no client can ask, these
// folders stay blocked. A session that arrives while a question is open waits for the answer.
func (d *daemon) askFolders(ctx context.Context, info host.SessionInfo) {
	if len(d.workspace.UndecidedFolders()) == 0 {
		return
	}
	w := d.shared.wide
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return
	}
	for _, folder := range d.workspace.UndecidedFolders() {
		what := TooLarge(folder, d.processes.env)
		allowed, err := d.policy.AskFolder(ctx, info.ID, folder, what)
		if err != nil {
			return // the turn was aborted, so the next turn asks again
		}
		if allowed {
			d.workspace.AllowFolder(folder)
			d.mcp.hub.RootsChanged()
			continue
		}
		d.workspace.RefuseFolder(folder)
		d.notices.once(info, []string{fmt.Sprintf("%s is %s and was not allowed as the workspace. "+
			"The agent can use only its files that are open in the editor and cannot run "+
			"commands in it. Open a project folder, restart agent-lsp to be asked again, or "+
			"start it with --whole-folder.", folder, what)})
	}
}

// rootIsHeld reports whether the user has not allowed that the first folder is the workspace.
func (d *daemon) rootIsHeld() bool { return d.workspace.HoldsBack(d.folders.root) }

// TooLarge describes a folder that is unlikely to be a workspace: the home folder, a folder that
// contains it, or the root of the file system. It returns "" for any other folder.
func TooLarge(dir string, env []string) string {
	return workspace.WideFolder(dir, homeFolder(env))
}

// homeFolder returns the user's home folder, or "".
func homeFolder(env []string) string {
	return firstOf(Lookup(env, "HOME"), Lookup(env, "USERPROFILE"))
}
