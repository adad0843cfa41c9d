package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// runTrust shows or changes whether the settings in a workspace's own file may loosen what the
// agent does.
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
	file := config.NewTrustFile(filepath.Join(app.StateDir(p.env), "trust.json"))
	switch answer := flags.Arg(0); {
	case flags.NArg() > 1 || answer != "" && answer != "yes" && answer != "no" && answer != "ask":
		fmt.Fprintln(p.stderr, "agent-lsp trust: pass yes, no or ask, or nothing to see the current state")
		return exitUsage
	case answer == "ask":
		err = file.Forget(root)
	case answer == "yes":
		set := p.settings(root)
		servers := app.LanguageServerClaims(set.Config(), p.env, root)
		err = file.Allow(root, append(set.Claims(), servers...))
	case answer == "no":
		err = file.Refuse(root)
	}
	if err != nil {
		return p.fail("trust", err)
	}
	set := p.settings(root)
	words := trustWords(file.Answer(root), set.Untrusted())
	fmt.Fprintf(p.stdout, "%s: %s\n", visible.Text(root), words)
	for _, c := range set.Claims() {
		err = errors.Join(err, c.Write(p.stdout))
	}
	for _, c := range app.LanguageServerClaims(set.Config(), p.env, root) {
		words := "does not start, because you have not trusted the code that it runs"
		if file.Answer(root).Covers(c) {
			words = "starts, because you trust the code that it runs"
		}
		fmt.Fprintf(p.stdout, "%s: %s\n", visible.Text(c.Layer), words)
		err = errors.Join(err, c.Write(p.stdout))
	}
	if err != nil {
		return p.fail("trust", err)
	}
	return exitOK
}

func trustWords(answer config.Answer, open []config.Claim) string {
	switch {
	case answer.Refused:
		return "not trusted, settings that would loosen yours are ignored"
	case !answer.Given():
		return "not decided, you are asked when its " + config.WorkspaceName +
			" would loosen settings"
	case len(open) > 0:
		return "changed since you trusted it, you are asked again; " +
			"until then settings that would loosen yours are ignored"
	}
	return "trusted, its " + config.WorkspaceName + " may loosen settings as it does now"
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
		return "", fmt.Errorf("the working directory does not exist, change to another one: %w",
			err)
	}
	return dir, nil
}
