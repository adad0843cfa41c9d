package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/app"
)

// workspaceUsage describes the flag --workspace.
const workspaceUsage = "the workspace's folder (default: the working directory)"

// sessionsCommand returns the commands that list, show, export and record the stored sessions of a
// workspace. Without a subcommand, it lists them.
func (p *program) sessionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "sessions", Short: "list, show and export stored sessions",
		Args: atMostOne([]string{"list", "show", "export"}),
	}
	c.Run = p.listSessionsWith(c)
	list := &cobra.Command{Use: "list", Short: "list the sessions", Args: noArguments}
	list.Run = p.listSessionsWith(list)
	show := &cobra.Command{Use: "show ID", Short: "show a session as Markdown", Args: oneSession}
	dir := folder(show, "workspace", workspaceUsage)
	show.Run = p.withLibrary("show", dir, func(l *session.Library, args []string) error {
		return p.exportSession(l, args[0], "markdown")
	})
	c.AddCommand(list, show, p.exportCommand())
	return c
}

// listSessionsWith adds the flags for listing sessions to a command and returns the command's
// function.
func (p *program) listSessionsWith(c *cobra.Command) func(*cobra.Command, []string) {
	dir := folder(c, "workspace", workspaceUsage)
	query := c.Flags().String("query", "",
		"list only sessions whose title or messages contain this text")
	archived := c.Flags().Bool("archived", false, "list the archived sessions")
	return p.withLibrary("list", dir, func(l *session.Library, _ []string) error {
		return p.listSessions(l, *dir, *query, *archived)
	})
}

func (p *program) exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "export ID", Short: "print a session, or write it as a session script",
		Args: oneSession,
	}
	dir := folder(c, "workspace", workspaceUsage)
	format := choice(c, "format", "markdown", "%s", formats)
	record := c.Flags().String("record", "", "write a session script to this file, "+
		"with the scripted model and the files that the session used")
	c.Run = p.withLibrary("export", dir, func(l *session.Library, args []string) error {
		if *record != "" {
			return p.recordSession(l, args[0], *dir, *record)
		}
		return p.exportSession(l, args[0], format.value)
	})
	return c
}

// oneSession checks that the arguments name exactly one session.
func oneSession(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("name one session; `agent-lsp sessions list` lists them")
	}
	return nil
}

// withLibrary wraps a function that works on a workspace's sessions as a command's function.
func (p *program) withLibrary(
	verb string, dir *string, do func(*session.Library, []string) error,
) func(*cobra.Command, []string) {
	return p.does(func(_ context.Context, args []string) int {
		library, err := p.library(*dir)
		if err != nil {
			return p.fail("sessions", err)
		}
		defer library.Close()
		err = do(library, args)
		if errors.Is(err, session.ErrUnknown) {
			err = fmt.Errorf("session %s is not stored for this workspace; "+
				"`agent-lsp sessions list` lists the stored sessions", args[0])
		}
		if err != nil {
			return p.fail("sessions "+verb, err)
		}
		return exitOK
	})
}

func (p *program) fail(what string, err error) int {
	fmt.Fprintf(p.stderr, "agent-lsp %s: %v\n", what, err)
	return exitFailed
}

// library opens the stored sessions of a workspace.
func (p *program) library(dir string) (*session.Library, error) {
	if dir == "" {
		var err error
		if dir, err = workingFolder(); err != nil {
			return nil, err
		}
	}
	return app.OpenLibrary(p.env, dir), nil
}

func (p *program) listSessions(l *session.Library, dir, query string, archived bool) error {
	entries, _, err := l.List(session.Query{Text: query, Archived: archived, Limit: 1000})
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		fmt.Fprintln(p.stdout, noSessions(dir, query, archived))
		return nil
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.ID, e.UpdatedAt.Local().Format("2006-01-02 15:04"),
			messageCount(e.Messages), e.Title)
	}
	return w.Flush()
}

// noSessions returns a message about sessions that were not found. It is not an error if the folder
// does not exist, because the sessions of a deleted folder can still be listed.
func noSessions(dir, query string, archived bool) string {
	said := "no sessions are stored for this workspace"
	if archived {
		said = "no sessions of this workspace are archived"
	}
	if query != "" {
		said += fmt.Sprintf(" that contain %q", query)
	}
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
		said += ", and " + dir + " is not a folder"
	}
	return said
}

func messageCount(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

func (p *program) exportSession(l *session.Library, id, format string) error {
	text, err := l.Export(id, format)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, text)
	return nil
}
