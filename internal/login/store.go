// Package login stores the keys of model providers that the user has entered, in the system's
// keyring or in a file that only the user can read.
package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/agent-lsp/agent-lsp/internal/filelock"
)

// FileVariable is the environment variable that disables the keyring if its value is "file".
const FileVariable = "AGENT_LSP_KEYRING"

const (
	// service is the name under which the keyring lists the keys.
	service = "agent-lsp"
	// patience limits the time for a call to the keyring, because the keyring may wait for the
	// user.
	patience = 20 * time.Second
)

// Store contains the stored keys of one user. It is safe for concurrent use. Another process may
// change the keys at any time, and the next Get returns the change.
type Store struct {
	path    string
	keyring keyring.Keyring // nil if there is no keyring

	mu   sync.Mutex
	seen fs.FileInfo       // state of the index when the keys were read
	keys map[string]string // keys by provider; valid until the index differs from seen
}

// entry describes where a provider's key is stored. The index maps names to entries.
type entry struct {
	Keyring bool   `json:"keyring,omitempty"`
	Key     string `json:"key,omitempty"`
}

// Open returns the store whose index is the file keys.json in dir. env looks up a variable.
func Open(dir string, env func(string) string) *Store {
	s := &Store{path: filepath.Join(dir, "keys.json")}
	if env(FileVariable) != "file" && hasKeyring(env) {
		s.keyring = system{}
	}
	return s
}

// Set stores a key and returns where it is stored. If there is no keyring, Set stores the key in
// the file. If the keyring returns another error, Set's error names an alternative.
func (s *Store) Set(name, key string) (where string, err error) {
	e := entry{Key: key}
	if s.keyring != nil {
		switch err := bounded(func() error { return s.keyring.Set(service, name, key) }); {
		case err == nil:
			e = entry{Keyring: true}
		case !isMissing(err):
			return "", fmt.Errorf("the system keyring refused the key: %w; unlock it, "+
				"or set %s=file to store the key in %s", err, FileVariable, s.path)
		}
	}
	if e.Keyring {
		where = "the system keyring"
	} else {
		where = s.path
	}
	return where, s.change(func(index map[string]entry) { index[name] = e })
}

// Delete removes a key. It reports whether there was one.
func (s *Store) Delete(name string) (found bool, err error) {
	var old entry
	err = s.change(func(index map[string]entry) {
		old, found = index[name]
		delete(index, name)
	})
	if err == nil && old.Keyring && s.keyring != nil {
		err = bounded(func() error { return s.keyring.Delete(service, name) })
		if errors.Is(err, keyring.ErrNotFound) {
			err = nil
		}
	}
	return found, err
}

// Get returns the key of a provider, or "". It reads a key again only if the index has changed
// since the last read.
func (s *Store) Get(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading stored keys: %w", err)
	}
	if s.seen == nil || !same(s.seen, info) {
		s.seen, s.keys = info, map[string]string{}
	}
	if key, known := s.keys[name]; known {
		return key, nil
	}
	key, err := s.read(name)
	if err == nil {
		s.keys[name] = key
	}
	return key, err
}

// Where returns where the key of a provider is stored, or "" if no key is stored or the index
// cannot be read.
func (s *Store) Where(name string) string {
	index, err := s.index()
	e, found := index[name]
	switch {
	case err != nil || !found:
		return ""
	case e.Keyring:
		return "the system keyring"
	}
	return s.path
}

func (s *Store) read(name string) (string, error) {
	index, err := s.index()
	e, found := index[name]
	if err != nil || !found || !e.Keyring {
		return e.Key, err
	}
	if s.keyring == nil {
		return "", fmt.Errorf("the key of %s is in the system keyring, which this process "+
			"cannot reach: run `agent-lsp login %s` here", name, name)
	}
	key := ""
	err = bounded(func() (err error) {
		key, err = s.keyring.Get(service, name)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the key of %s from the system keyring: %w; unlock it, "+
			"or run `agent-lsp login %s` again", name, err, name)
	}
	return key, nil
}

func (s *Store) index() (map[string]entry, error) {
	index, err := filelock.ReadMap[entry](s.path)
	if err != nil {
		return nil, fmt.Errorf("reading stored keys from %s: %w", s.path, err)
	}
	return index, nil
}

// change rewrites the index. Only the user may read the index, because it may contain keys.
func (s *Store) change(f func(map[string]entry)) error {
	return filelock.With(s.path, func() error {
		index, err := s.index()
		if err != nil {
			return err
		}
		before := maps.Clone(index)
		if f(index); maps.Equal(before, index) {
			// The keyring may contain a new key. The new time makes other processes query it.
			now := time.Now()
			if len(index) > 0 {
				return os.Chtimes(s.path, now, now)
			}
			return nil
		}
		data, err := json.MarshalIndent(index, "", "  ")
		if err != nil {
			return err
		}
		return filelock.Replace(s.path, data)
	})
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// bounded calls the keyring with a time limit, because the keyring may wait for the user.
func bounded(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("it did not answer within %v", patience)
	}
}
