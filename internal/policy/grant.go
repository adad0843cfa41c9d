package policy

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/filelock"
)

// Scope determines where and for how long a grant applies.
type Scope string

// The scopes: the session in which the user answered, or the workspace without a time limit.
const (
	ScopeSession Scope = "session"
	ScopeAlways  Scope = "always"
)

// Grant is a stored answer. It allows a request or, with Deny, refuses it.
type Grant struct {
	ID       string   `json:"grantId"`
	Tool     string   `json:"tool"`
	Patterns []string `json:"patterns"`
	Scope    Scope    `json:"scope"`
	Deny     bool     `json:"deny,omitempty"`
	Session  string   `json:"session,omitempty"` // the session, for ScopeSession
	Root     string   `json:"root,omitempty"`    // the workspace, for ScopeAlways
	Uses     int      `json:"uses"`
	// Files contains the hashes, at the time of the grant, of the workspace files that the command
	// runs by path. The keys are the paths. If a file changes, a new grant is needed.
	Files     map[string]string `json:"files,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
}

// Pattern returns the rules of the grant as the user sees them.
func (g Grant) Pattern() string {
	out := make([]string, len(g.Patterns))
	for i, p := range g.Patterns {
		out[i] = g.Tool + "(" + p + ")"
	}
	if g.Deny {
		return "deny " + strings.Join(out, ", ")
	}
	return strings.Join(out, ", ")
}

// rules returns the grant's rules. A rule that can no longer be parsed allows nothing.
func (g Grant) rules() []Rule {
	verb := "allow "
	if g.Deny {
		verb = "deny "
	}
	var out []Rule
	for _, p := range g.Patterns {
		if r, err := ParseRule(verb + g.Tool + "(" + p + ")"); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// matchesFiles reports whether the files that a command runs by path still match the grant. It
// always returns true for a grant that refuses, and for a grant without such files.
func (g Grant) matchesFiles(run map[string]string) bool {
	if g.Deny || len(g.Files) == 0 && !runsByPath(g.Patterns) {
		return true
	}
	known := false
	for path, hash := range run {
		if have, ok := g.Files[path]; ok {
			if have != hash || hash == "" {
				return false
			}
			known = true
		}
	}
	return known
}

// runsByPath reports whether a pattern begins with a file's relative path.
func runsByPath(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(p, "='\""), " ")
		return strings.Contains(name, "/") && !filepath.IsAbs(name)
	})
}

func newGrantID() string { return "grant-" + rand.Text()[:12] }

// Store stores the grants with the scope "always". Update replaces them with the result of change.
// No other writer, such as another daemon, can change them during the call.
type Store interface {
	Load() ([]Grant, error)
	Update(change func(stored []Grant) []Grant) error
}

// FileStore stores grants in a JSON file that only the user can read.
type FileStore struct{ path string }

var _ Store = (*FileStore)(nil)

// NewFileStore returns a FileStore that uses path, a file in the user's state directory.
func NewFileStore(path string) *FileStore { return &FileStore{path} }

// Load reads the grants. A missing file contains no grants.
func (f *FileStore) Load() ([]Grant, error) {
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Grant
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the grants in %s: %w", f.path, err)
	}
	return out, nil
}

// Update replaces the stored grants with the result of change.
func (f *FileStore) Update(change func(stored []Grant) []Grant) error {
	err := filelock.With(f.path, func() error {
		stored, err := f.Load()
		if err != nil {
			return err
		}
		b, err := json.MarshalIndent(change(stored), "", "  ")
		if err != nil {
			return err
		}
		return replaceFile(f.path, append(b, '\n'))
	})
	if err != nil {
		return fmt.Errorf("writing the grants to %s: %w", f.path, err)
	}
	return nil
}

func replaceFile(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".grants-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
