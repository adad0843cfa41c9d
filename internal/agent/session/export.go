package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// exportFormat marks an exported session.
const exportFormat = "agent-lsp-session"

// exported is a session as a JSON document.
type exported struct {
	Format    string             `json:"format"`
	Version   int                `json:"version"`
	Title     string             `json:"title,omitempty"`
	Cwd       string             `json:"cwd,omitempty"`
	CreatedAt time.Time          `json:"createdAt"`
	Usage     message.Usage      `json:"usage"`
	Config    json.RawMessage    `json:"config,omitempty"`
	Messages  []*message.Message `json:"messages"`
	Items     []itemData         `json:"items,omitempty"`
	Commits   []*agent.Commit    `json:"commits,omitempty"`
	Pins      []agent.PinChange  `json:"pins,omitempty"`
}

// Export returns a session as text, without secrets. Import accepts only the format "json".
// The format "markdown" is for the user to read.
func (l *Library) Export(id, format string) (string, error) {
	if format != "json" && format != "markdown" {
		return "", fmt.Errorf("exporting session %s: the format is %q; it must be json or markdown",
			id, format)
	}
	in, err := l.borrow(id)
	if err != nil {
		return "", fmt.Errorf("exporting: %w", err)
	}
	if format == "markdown" {
		return string(l.redact([]byte(markdown(in)))), nil
	}
	items, err := in.Session.Items(0)
	if err != nil {
		return "", fmt.Errorf("exporting: %w", err)
	}
	doc := exported{
		Format: exportFormat, Version: Version, Title: in.Entry.Title, Cwd: in.Entry.Cwd,
		CreatedAt: in.Entry.CreatedAt,
		Usage:     in.Entry.Usage, Config: in.Config, Messages: in.Messages, Commits: in.Commits,
		Pins: in.Pins,
	}
	known := all{}
	for _, m := range in.Messages {
		known.add(m)
	}
	for _, it := range items {
		d, _ := storeItem(it, known)
		doc.Items = append(doc.Items, d)
	}
	b, err := marshal(doc)
	if err != nil {
		return "", fmt.Errorf("exporting session %s: %w", id, err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, redacted(append(b, '\n'), l.opts.Redact), "", " "); err != nil {
		return "", fmt.Errorf("exporting session %s: %w", id, err)
	}
	return pretty.String(), nil
}

// markdown formats the conversation as the user saw it.
func markdown(in *Loaded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", strings.ReplaceAll(in.Entry.Title, "\n", " "))
	fmt.Fprintf(&b, "%s, %s, %d messages, %d tokens\n",
		in.Entry.CreatedAt.UTC().Format("2006-01-02 15:04"), in.Entry.Cwd, in.Entry.Messages,
		in.Entry.Usage.Total)
	last := message.Role("")
	for _, m := range in.Messages {
		if m.Hidden || m.App != "" {
			continue
		}
		if m.Role != last && m.Role != message.RoleTool &&
			!(last == message.RoleTool && m.Role == message.RoleAssistant) {
			fmt.Fprintf(&b, "\n## %s\n", map[message.Role]string{message.RoleUser: "User",
				message.RoleAssistant: "Agent", message.RoleSystem: "System"}[m.Role])
		}
		last = m.Role
		writeMessage(&b, m)
	}
	return b.String()
}

func writeMessage(b *strings.Builder, m *message.Message) {
	if m.Role == message.RoleTool {
		label := "Result of " + m.Name
		if m.IsError {
			label = "Error of " + m.Name
		}
		fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n%s\n\n</details>\n", label,
			fenced(m.TextContent(), ""))
		return
	}
	for i := range m.Content {
		switch c := &m.Content[i]; c.Type {
		case message.Text, message.Refusal:
			fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(c.Text))
		case message.ToolUse:
			if c.Call != nil {
				fmt.Fprintf(b, "\n**%s**\n\n%s\n", c.Call.Name, fenced(string(c.Call.Args), "json"))
			}
		case message.Image, message.File, message.Resource:
			fmt.Fprintf(b, "\n*%s %s%s%s*\n", c.Type, c.Name, c.URI, c.MimeType)
		}
	}
}

// fenced puts text into a code fence that nothing in the text can close.
func fenced(text, language string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
