package app

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/policy"
)

// folders contains the paths of one connection's folders. They do not change after the core is
// built.
type folders struct {
	root  string // the first workspace folder, or "" if there is none
	state string // where this run stores its data
	// sessions is the user's own state directory, whose sessions are listed. It differs from state
	// if the user's directory is not writable.
	sessions string
	// own is the state directory for this run only, which is deleted when the run ends. It is "" if
	// the configured state directory is writable.
	own string
}

// ownFiles returns agent-lsp's own files. The folder of the user's settings also contains agents
// and commands. A settings file elsewhere may be in a folder with other files.
func (d *daemon) ownFiles() policy.OwnFiles {
	settings := []string{absolute(UserFile(d.processes.env))}
	if dir := filepath.Dir(settings[0]); filepath.Base(dir) == "agent-lsp" {
		settings = append(settings, dir)
	}
	return policy.OwnFiles{
		Data:     []string{absolute(d.folders.state), absolute(d.folders.sessions)},
		Settings: settings,
	}
}

// absolute makes a relative path absolute, based on the current working directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// file returns the path of a file or folder in the state directory.
func (f *folders) file(name ...string) string {
	return filepath.Join(append([]string{f.state}, name...)...)
}

// spill returns the folder for a session's outputs that were too long for the model.
func (f *folders) spill(session string) string { return f.file("spill", session) }

// maxForks limits how many sessions forked returns.
const maxForks = 20

// forked returns the sessions from which a session was forked.
func (d *daemon) forked(session string) (list []string) {
	for len(list) < maxForks {
		e, err := d.cleanup.library.Entry(session)
		if err != nil || e.ForkOf == "" {
			break
		}
		session = e.ForkOf
		list = append(list, session)
	}
	return list
}

// spillTo returns a function for text that is too long for the model. The function removes secrets
// from the text and stores it in a file that the session's tools can read.
func (f *folders) spillTo(
	session string,
	redact func([]byte) []byte,
) func(name, text string) (string, error) {
	return func(name, text string) (string, error) {
		dir := f.spill(session)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		path := filepath.Join(dir, strings.Map(fileRune, name)+".txt")
		return path, os.WriteFile(path, redact([]byte(text)), 0o600)
	}
}

// dropOwn deletes the state directory that was created for this run only.
func (f *folders) dropOwn() error {
	if f.own == "" {
		return nil
	}
	return os.RemoveAll(f.own)
}

func fileRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
		return r
	}
	return '_'
}
