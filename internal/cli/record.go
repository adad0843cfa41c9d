package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

const (
	// maxRecordedFile is the maximum size of one file in a recording.
	maxRecordedFile = 256 << 10
	// maxRecorded is the maximum size of all files in a recording.
	maxRecorded = 2 << 20
)

// recorder collects the files that a session changed, with their content from before the session,
// and the files that the session only read, with their current content.
type recorder struct {
	root   string
	redact *app.Redactor
	out    session.Recording
	total  int
}

// recordSession writes a session script for a session, so that a bug report can become a test.
func (p *program) recordSession(l *session.Library, id, dir, file string) error {
	loaded, err := l.Load(id)
	if err != nil {
		return err
	}
	root := loaded.Entry.Cwd
	if dir != "" {
		if root, err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	r := &recorder{root: root, redact: app.NewRedactor(p.env),
		out: session.Recording{Root: root, Files: map[string][]byte{}}}
	if err := r.gather(loaded, app.StateDir(p.env)); err != nil {
		return err
	}
	script, err := session.Record(loaded, r.out)
	if err != nil {
		return err
	}
	return os.WriteFile(file, script, 0o600)
}

func (r *recorder) gather(loaded *session.Loaded, state string) error {
	w := workspace.New(workspace.Options{StateDir: filepath.Join(state, "workspace")})
	defer w.Close()
	first, err := w.FirstContents(loaded.Entry.ID)
	if err != nil {
		return err
	}
	for path, text := range first {
		if text != nil {
			r.add(path, text)
		}
	}
	for _, path := range touched(loaded, r.root) {
		if _, changed := first[path]; changed {
			continue
		}
		r.addFromDisk(path)
	}
	r.out.Config = replayConfig(loaded.Config)
	r.out.Notes = append(r.out.Notes,
		"Edits are applied as the model proposed them, and every permission is granted.")
	return nil
}

// addFromDisk adds a file with its current content. It adds no file outside the folder and no
// secret file, even if a link leads there.
func (r *recorder) addFromDisk(path string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRecordedFile {
		return
	}
	root, err := filepath.EvalSymlinks(r.root)
	if err != nil {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || app.Secret(real) {
		return
	}
	if _, ok := within(root, real); !ok {
		return
	}
	if text, err := os.ReadFile(real); err == nil {
		r.add(path, text)
	}
}

// within returns a path relative to a folder that contains it. Both have no links.
func within(folder, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(folder, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// add adds a file unless a script cannot or should not contain it.
func (r *recorder) add(path string, text []byte) {
	rel, ok := within(r.root, path)
	if !ok {
		return
	}
	name := filepath.ToSlash(rel)
	switch {
	case app.Secret(path):
		r.leaveOut(name, "usually contains secrets")
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		r.leaveOut(name, "binary file")
	case len(text) > maxRecordedFile || r.total+len(text) > maxRecorded:
		r.leaveOut(name, "too large")
	default:
		r.total += len(text)
		r.out.Files[name] = r.redact.Bytes(text)
	}
}

func (r *recorder) leaveOut(name, why string) {
	r.out.Notes = append(r.out.Notes, fmt.Sprintf("Skipped %s: %s.", name, why))
}

// touched returns the paths in the session's calls, except for those that were refused.
func touched(loaded *session.Loaded, root string) (paths []string) {
	seen, refused := map[string]bool{}, map[string]bool{}
	for _, m := range loaded.Messages {
		refused[m.CallID] = m.IsError && app.Refused(m.TextContent())
	}
	for _, m := range loaded.Messages {
		for _, call := range m.ToolCalls() {
			if refused[call.ID] {
				continue
			}
			for _, name := range named(call.Args) {
				if name != "" && !filepath.IsAbs(name) {
					name = filepath.Join(root, name)
				}
				if name != "" && !seen[name] {
					seen[name] = true
					paths = append(paths, filepath.Clean(name))
				}
			}
		}
	}
	return paths
}

// named returns the paths in a call's arguments and in patches. Models use different names for the
// argument.
func named(args json.RawMessage) (names []string) {
	var fields map[string]any
	_ = json.Unmarshal(args, &fields)
	for _, key := range []string{"path", "file_path", "filePath", "filename", "file"} {
		if name, ok := fields[key].(string); ok {
			names = append(names, name)
		}
	}
	for _, value := range fields {
		text, _ := value.(string)
		for _, line := range strings.Split(text, "\n") {
			for _, head := range []string{"*** Update File: ", "*** Delete File: ", "--- a/"} {
				if name, ok := strings.CutPrefix(line, head); ok {
					names = append(names, strings.TrimSpace(name))
				}
			}
		}
	}
	return names
}

// replayConfig returns the session's configuration, changed so that a replay needs no user and no
// provider.
func replayConfig(own json.RawMessage) json.RawMessage {
	config := map[string]any{}
	_ = json.Unmarshal(own, &config)
	config["editPolicy"] = "auto"
	delete(config, "provider")
	delete(config, "model")
	b, err := json.Marshal(config)
	if err != nil {
		return nil
	}
	return b
}
