package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// trustCommand returns the command that shows or changes whether a workspace's own settings file
// may loosen the agent's restrictions.
func (p *program) trustCommand() *cobra.Command {
	answers := []string{"yes", "no", "ask"}
	c := &cobra.Command{
		Use:   "trust [yes|no|ask]",
		Short: "show or set whether this workspace's settings may loosen your restrictions",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(answers, args[0]) {
				return errors.New("pass yes, no or ask, or no argument to see the current state")
			}
			return nil
		},
		ValidArgs: answers,
	}
	dir := folder(c, "workspace", workspaceUsage)
	c.Run = p.does(func(_ context.Context, args []string) int {
		return p.trust(*dir, strings.Join(args, ""))
	})
	return c
}

func (p *program) trust(dir, answer string) int {
	root, err := workspaceRoot(dir)
	if err != nil {
		return p.fail("trust", err)
	}
	file := config.NewTrustFile(filepath.Join(app.StateDir(p.env), "trust.json"))
	switch answer {
	case "ask":
		err = file.Forget(root)
	case "yes":
		set := p.settings(root)
		servers := app.LanguageServerClaims(set.Config(), p.env, root)
		err = file.Allow(root, append(set.Claims(), servers...))
	case "no":
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
		return "not trusted; settings that would loosen your restrictions are ignored"
	case !answer.Given():
		return "not decided: you will be asked when " + config.WorkspaceName +
			" in this workspace would loosen your restrictions"
	case len(open) > 0:
		return "changed since you trusted it, so you are asked again; " +
			"until then, settings that would loosen your restrictions are ignored"
	}
	return "trusted, its " + config.WorkspaceName + " may loosen your restrictions as it does now"
}

func workspaceRoot(dir string) (string, error) {
	if dir == "" {
		return workingFolder()
	}
	return filepath.Abs(dir)
}

// workingFolder returns the folder in which the program was started. It returns an error if the
// folder no longer exists.
func workingFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the working directory does not exist; change to another one: %w",
			err)
	}
	return dir, nil
}
