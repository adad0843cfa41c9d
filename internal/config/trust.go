package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/filelock"
)

// TrustFile remembers which workspaces the user trusts. Safe for concurrent use.
type TrustFile struct {
	path string
	mu   sync.Mutex
}

// NewTrustFile returns the memory of answers in path, a file in the state directory.
func NewTrustFile(path string) *TrustFile { return &TrustFile{path: path} }

// Trusts says whether the user trusts a root, and whether he was asked at all. What cannot be
// read counts as not asked.
func (f *TrustFile) Trusts(root string) (trusted, asked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answers, err := f.read()
	if err != nil {
		return false, false
	}
	trusted, asked = answers[filepath.Clean(root)]
	return trusted, asked
}

// Set remembers the user's answer for a root.
func (f *TrustFile) Set(root string, trusted bool) error {
	return f.change(root, func(answers map[string]bool, key string) { answers[key] = trusted })
}

// Forget forgets the answer for a root, so that the user is asked again.
func (f *TrustFile) Forget(root string) error {
	return f.change(root, func(answers map[string]bool, key string) { delete(answers, key) })
}

func (f *TrustFile) change(root string, do func(answers map[string]bool, key string)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := filelock.With(f.path, func() error {
		answers, err := f.read()
		if err != nil {
			return err
		}
		do(answers, filepath.Clean(root))
		return f.write(answers)
	})
	if err != nil {
		return fmt.Errorf("remembering the trust in %s: %w", root, err)
	}
	return nil
}

func (f *TrustFile) write(answers map[string]bool) error {
	b, err := json.MarshalIndent(answers, "", "  ")
	if err != nil {
		return err
	}
	tmp := f.path + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, f.path)
}

func (f *TrustFile) read() (map[string]bool, error) {
	answers := map[string]bool{}
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return answers, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &answers)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.path, err)
	}
	if answers == nil { // the file holds null
		answers = map[string]bool{}
	}
	return answers, nil
}
