package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/settings"
)

// runTrust shows or changes whether the settings in a workspace's own file may loosen what the agent does.
func runTrust(_ context.Context, p *program, args []string) int {
	flags := p.flags("trust")
	dir := flags.String("workspace", "", "the workspace's folder (default: the working directory)")
	if err := p.parse(flags, reorder(args)); err != nil {
		return usageCode(err)
	}
	root, err := workspaceRoot(*dir)
	if err != nil {
		return p.fail("trust", err)
	}
	file := settings.NewTrustFile(filepath.Join(stateDir(p.env), "trust.json"))
	switch answer := flags.Arg(0); {
	case flags.NArg() > 1 || answer != "" && answer != "yes" && answer != "no" && answer != "ask":
		fmt.Fprintln(p.stderr, "agent-lsp trust: say yes, no or ask, or nothing to see what holds")
		return exitUsage
	case answer == "ask":
		err = file.Forget(root)
	case answer != "":
		err = file.Set(root, answer == "yes")
	}
	if err != nil {
		return p.fail("trust", err)
	}
	fmt.Fprintf(p.stdout, "%s: %s\n", root, trustWords(file.Trusts(root)))
	return exitOK
}

func trustWords(trusted, asked bool) string {
	switch {
	case trusted:
		return "trusted, its " + settings.WorkspaceName + " may loosen settings"
	case asked:
		return "not trusted, what would loosen settings is ignored"
	}
	return "not decided, you are asked when its " + settings.WorkspaceName + " would loosen settings"
}

func workspaceRoot(dir string) (string, error) {
	if dir == "" {
		return workingFolder()
	}
	return filepath.Abs(dir)
}

// workingFolder is the folder that the program was started in, which may be gone since.
func workingFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the folder that this was started in cannot be found, change to another one: %w", err)
	}
	return dir, nil
}

// trusting is the one question of a daemon whether the workspace is trusted.
type trusting struct {
	turn chan struct{} // holds the right to ask; made by once
	once sync.Once
	held string // what was asked about last
}

// askTrust asks the user whether what the workspace's own settings want may count: once, and again when they
// want more. A session that comes meanwhile waits for the answer.
func (d *daemon) askTrust(ctx context.Context, sessionID string) {
	t := &d.trusting
	t.once.Do(func() { t.turn = make(chan struct{}, 1) })
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return
	}
	held := strings.Join(d.settings.Set().NeedsTrust(), ", ")
	if held == "" || held == t.held || d.root == "" {
		return
	}
	t.held = held
	trusted, err := d.policy.AskTrust(ctx, d.trust, sessionID, d.root, settings.WorkspaceName+" sets "+held)
	if err != nil {
		d.notice("warning", err.Error())
	}
	if trusted {
		d.settings.Trust(true)
		d.peer.SettingsChanged()
	}
}
