package login

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

func noEnv(string) string { return "" }

// ring is an in-memory keyring. If err is set, every call returns it.
type ring struct {
	keys map[string]string
	err  error
	gets int
}

func (r *ring) Set(_, name, key string) error {
	if r.err == nil {
		r.keys[name] = key
	}
	return r.err
}

func (r *ring) Get(_, name string) (string, error) {
	r.gets++
	key, found := r.keys[name]
	if r.err == nil && !found {
		return "", keyring.ErrNotFound
	}
	return key, r.err
}

func (r *ring) Delete(_, name string) error { delete(r.keys, name); return r.err }
func (r *ring) DeleteAll(string) error      { return r.err }

func stored(t *testing.T, s *Store, name, want string) {
	t.Helper()
	if got, err := s.Get(name); got != want || err != nil {
		t.Errorf("the key of %s is %q, %v, want %q", name, got, err, want)
	}
}

// Without a keyring, keys are stored in a file that only the current user can read. Another process
// sees each change.
func TestKeysInAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	writer, reader := Open(dir, noEnv), Open(dir, noEnv)
	stored(t, reader, "openai", "")
	for _, key := range []string{"one", "two"} {
		where, err := writer.Set("openai", key)
		if err != nil || where != filepath.Join(dir, "keys.json") {
			t.Fatalf("stored in %q, %v", where, err)
		}
		stored(t, reader, "openai", key)
	}
	info, err := os.Stat(filepath.Join(dir, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	stored(t, reader, "anthropic", "")
	if found, err := writer.Delete("openai"); !found || err != nil {
		t.Errorf("deleted %v, %v", found, err)
	}
	stored(t, reader, "openai", "")
	if found, err := writer.Delete("openai"); found || err != nil {
		t.Errorf("deleted again %v, %v", found, err)
	}
}

// With a keyring, the file contains no keys, and the keyring is queried once after each change.
func TestKeysInTheKeyring(t *testing.T) {
	dir, r := t.TempDir(), &ring{keys: map[string]string{}}
	writer, reader := Open(dir, noEnv), Open(dir, noEnv)
	writer.keyring, reader.keyring = r, r
	for _, key := range []string{"secret-one", "secret-two"} {
		if where, err := writer.Set("openai", key); where != "the system keyring" || err != nil {
			t.Fatalf("stored in %q, %v", where, err)
		}
		gets := r.gets
		stored(t, reader, "openai", key)
		stored(t, reader, "openai", key)
		if r.gets != gets+1 {
			t.Errorf("the keyring was asked %d times", r.gets-gets)
		}
	}
	data, err := os.ReadFile(writer.path)
	if err != nil || strings.Contains(string(data), "secret") {
		t.Errorf("the file has %s, %v", data, err)
	}
	if _, err := writer.Delete("openai"); err != nil || len(r.keys) != 0 {
		t.Errorf("after the deletion: %v, %v", r.keys, err)
	}
}

// If the keyring returns an error, Set's error names the alternative. If no keyring exists, Set
// stores the key in the file.
func TestAKeyringThatRefuses(t *testing.T) {
	r := &ring{keys: map[string]string{}, err: errors.New("it is locked")}
	s := Open(t.TempDir(), noEnv)
	s.keyring = r
	_, err := s.Set("openai", "key")
	for _, part := range []string{"locked", FileVariable + "=file"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, without %q", err, part)
		}
	}
	r.err = errors.New("The name org.freedesktop.secrets was not provided by any .service files")
	if where, err := s.Set("openai", "key"); where != s.path || err != nil {
		t.Errorf("stored in %q, %v", where, err)
	}
	r.err = nil
	if _, err := s.Set("openai", "key"); err != nil {
		t.Fatal(err)
	}
	r.err = errors.New("it is locked")
	_, err = s.Get("openai")
	if err == nil || !strings.Contains(err.Error(), "agent-lsp login openai") {
		t.Errorf("reading says %v", err)
	}
}

// If the file is damaged, the error names it, and the file is not overwritten.
func TestADamagedFile(t *testing.T) {
	s := Open(t.TempDir(), noEnv)
	if err := os.WriteFile(s.path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Set("openai", "key"); err == nil || !strings.Contains(err.Error(), s.path) {
		t.Errorf("stored in a damaged file: %v", err)
	}
	if _, err := s.Get("openai"); err == nil {
		t.Error("read from a damaged file")
	}
}
