package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/app"
)

// runSessions lists, shows, exports and records the stored sessions of the working directory's
// workspace.
func runSessions(_ context.Context, p *program, args []string) int {
	if len(args) == 0 {
		args = []string{"list"}
	}
	if strings.HasPrefix(args[0], "-") {
		args = append([]string{"list"}, args...)
	}
	verb, args := args[0], args[1:]
	flags := p.flags("sessions " + verb)
	dir := flags.String("workspace", "", "the workspace's folder (default: the working directory)")
	format := flags.String("format", "markdown", "export: markdown or json")
	record := flags.String("record", "",
		"export: write a session script to this file, with the scripted model and the files that the session used")
	query := flags.String("query", "",
		"list: only sessions whose title or messages contain this text")
	archived := flags.Bool("archived", false, "list: the archived sessions")
	if err := p.parse(flags, reorder(args)); err != nil {
		return usageCode(err)
	}
	if verb == "list" && p.unexpected(flags) {
		return exitUsage
	}
	library, err := p.library(*dir)
	if err != nil {
		return p.fail("sessions", err)
	}
	defer library.Close()
	switch {
	case verb == "list":
		err = p.listSessions(library, *dir, *query, *archived)
	case verb != "show" && verb != "export":
		return p.noneOf("sessions", verb, words["sessions"])
	case flags.NArg() != 1:
		fmt.Fprintf(p.stderr, "agent-lsp sessions %s: name one session; `agent-lsp sessions list` lists them\n", verb)
		return exitUsage
	case verb == "show":
		err = p.exportSession(library, flags.Arg(0), "markdown")
	case verb == "export" && *record != "":
		err = p.recordSession(library, flags.Arg(0), *dir, *record)
	default:
		err = p.exportSession(library, flags.Arg(0), *format)
	}
	if errors.Is(err, session.ErrUnknown) {
		err = fmt.Errorf("session %s is not stored for this workspace; `agent-lsp sessions list` lists those that are", flags.Arg(0))
	}
	if err != nil {
		return p.fail("sessions "+verb, err)
	}
	return exitOK
}

// reorder puts flags before arguments, so that both orders work.
func reorder(args []string) []string {
	var flags, rest []string
	for i := 0; i < len(args); i++ {
		if len(args[i]) > 1 && args[i][0] == '-' {
			flags = append(flags, args[i])
			if i+1 < len(args) && args[i] != "-archived" && args[i] != "--archived" &&
				!hasValue(args[i]) {
				i++
				flags = append(flags, args[i])
			}
			continue
		}
		rest = append(rest, args[i])
	}
	return append(flags, rest...)
}

func hasValue(flag string) bool {
	for _, r := range flag {
		if r == '=' {
			return true
		}
	}
	return false
}

func (p *program) fail(what string, err error) int {
	fmt.Fprintf(p.stderr, "agent-lsp %s: %v\n", what, err)
	return exitFailed
}

// library opens the sessions of a workspace.
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

// noSessions says what there is none of; the sessions of a folder that is gone are still listed.
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
