package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// scriptLine is one reply of the scripted model (docs/reference/script.md).
type scriptLine struct {
	Reasoning string       `json:"reasoning,omitempty"`
	Text      string       `json:"text,omitempty"`
	ToolCalls []scriptCall `json:"toolCalls,omitempty"`
}

type scriptCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ModelScript returns the session's replies as a file for the scripted model, so that the session
// can be replayed without the model.
func ModelScript(in *Loaded) ([]byte, error) {
	var b bytes.Buffer
	for _, m := range in.Messages {
		if m.Role != message.RoleAssistant || m.Hidden {
			continue
		}
		line := scriptLine{Text: m.TextContent()}
		for i := range m.Content {
			if m.Content[i].Type == message.Reasoning {
				line.Reasoning += m.Content[i].Text
			}
		}
		for _, c := range m.ToolCalls() {
			line.ToolCalls = append(line.ToolCalls,
				scriptCall{ID: c.ID, Name: c.Name, Arguments: c.Args})
		}
		if err := encode(&b, line); err != nil {
			return nil, fmt.Errorf("recording session %s: %w", in.Entry.ID, err)
		}
	}
	return b.Bytes(), nil
}

// Recording contains what a session script needs in addition to the session.
type Recording struct {
	// Root is the workspace's folder. Paths below it become paths in the script's workspace.
	Root string
	// Files contains the initial content of files, by slash-separated paths relative to Root.
	Files  map[string][]byte
	Config json.RawMessage // the script's settings; nil means none
	Notes  []string        // notes for the reader, for example which file was omitted
}

// Record returns the session as a session script for a bug report. With the expected outcome added,
// the script becomes a test. Record does not remove secrets from its arguments.
func Record(in *Loaded, rec Recording) ([]byte, error) {
	model, err := ModelScript(in)
	if err != nil {
		return nil, err
	}
	title := in.Entry.Title
	if rec.Root != "" {
		title = strings.ReplaceAll(title, rec.Root, "the workspace")
	}
	comment := fmt.Sprintf("Recorded from a session: %s.\nDescribe here what should have happened.\n", title)
	for _, note := range rec.Notes {
		comment += note + "\n"
	}
	a := &txtar.Archive{Comment: []byte(safe(comment))}
	if len(rec.Config) > 0 {
		a.Files = append(a.Files, txtar.File{Name: "config.json",
			Data: rec.portable(string(rec.Config) + "\n")})
	}
	story := rec.addFiles(a) + "auto agent/requestPermission {\"optionId\": \"allow_once\"}\n" +
		prompts(in)
	a.Files = append(a.Files, txtar.File{Name: "model.jsonl", Data: rec.portable(string(model))},
		txtar.File{Name: "script", Data: rec.portable(story)})
	return txtar.Format(a), nil
}

// prompts returns the script lines with the user's prompts.
func prompts(in *Loaded) string {
	var story strings.Builder
	for i, m := range in.Messages {
		if m.Role != message.RoleUser || m.Hidden || m.App != "" {
			continue
		}
		method := "prompt"
		if m.Source == message.SourceSteer {
			method = "steer"
		}
		fmt.Fprintf(&story, "%s %s\n", method, strconv.Quote(m.TextContent()))
		if i+1 == len(in.Messages) || in.Messages[i+1].Role != message.RoleUser {
			story.WriteString("wait\n")
		}
	}
	return story.String()
}

// addFiles adds the workspace's files. The script format cannot represent some files exactly, and
// some files have the name of a section. Such files are written by script lines, which addFiles
// returns.
func (r *Recording) addFiles(a *txtar.Archive) (lines string) {
	names := slices.Sorted(maps.Keys(r.Files))
	for _, name := range names {
		f := txtar.File{Name: name, Data: r.Files[name]}
		back := txtar.Parse(txtar.Format(&txtar.Archive{Files: []txtar.File{f}}))
		whole := len(back.Files) == 1 && back.Files[0].Name == name &&
			bytes.Equal(back.Files[0].Data, f.Data)
		if !whole || !strings.Contains(name, "/") && sections[name] ||
			strings.HasPrefix(name, "want/") {
			lines += "write " + name + " " + strconv.Quote(string(f.Data)) + "\n"
			continue
		}
		a.Files = append(a.Files, f)
	}
	return lines
}

// sections are the names with a special meaning in a script.
var sections = map[string]bool{"script": true, "model.jsonl": true, "config.json": true,
	"client.json":      true,
	"user-config.json": true, "env": true, "args": true, "transcript": true}

// portable replaces the workspace's folder with the script's variable, and escapes dollar signs.
func (r *Recording) portable(text string) []byte {
	text = strings.ReplaceAll(text, "$", "$$")
	if r.Root != "" && r.Root != "/" {
		text = strings.ReplaceAll(text, r.Root, "$wspath")
	}
	return []byte(text)
}

// safe ensures that a comment line is not parsed as a file marker.
func safe(comment string) string {
	return strings.ReplaceAll(comment, "-- ", "- ")
}
