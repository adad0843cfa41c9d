package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLive(t *testing.T) {
	src := files(t, `{"model":"user","color":1}`, "")
	l := NewLive(src, json.RawMessage(`{"instructions":"i"}`))
	config, notices, err := l.Session(json.RawMessage(`{"thinking":"low","shade":1}`))
	if err != nil || config.Model != "user" || config.Instructions != "i" ||
		config.Thinking != "low" {
		t.Errorf("config %+v, %v", config, err)
	}
	if len(notices) != 2 || !strings.Contains(notices[0], "color") ||
		!strings.Contains(notices[1], "shade") {
		t.Errorf("notices %q", notices)
	}
	if _, _, err := l.Session(json.RawMessage(`{"model":7}`)); err == nil ||
		err.Error() != "model: expected a string, not 7; ignored" {
		t.Errorf("wrong type: %v", err)
	}
	if _, _, err := l.Session(json.RawMessage(`[]`)); err == nil {
		t.Error("a list was accepted as a config")
	}
	if notices, err := l.ClientChanged(json.RawMessage(`{"model":"client","sandbox":"off"}`)); err != nil || len(notices) != 1 || !strings.Contains(notices[0], "sandbox") {
		t.Errorf("client: %q, %v", notices, err)
	}
	if config, notices, _ := l.Session(nil); config.Model != "client" || len(notices) != 1 {
		t.Errorf("config %+v, notices %q", config, notices)
	}
}

// If a settings file changes, appears or disappears, it is read again when a session requests its
// settings.
func TestLiveReadsChangedFiles(t *testing.T) {
	src := files(t, "", "")
	src.Trust = NewTrustFile(filepath.Join(t.TempDir(), "trust.json"))
	l := NewLive(src, nil)
	model := func() string {
		config, _, err := l.Session(nil)
		if err != nil {
			t.Fatal(err)
		}
		return config.Model
	}
	path := filepath.Join(src.Root, WorkspaceName)
	for _, want := range []string{"one", "second", "the third"} {
		if err := os.WriteFile(path, []byte(`{"model":"`+want+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := model(); got != want {
			t.Errorf("model %q, want %q", got, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := model(); got != "" {
		t.Errorf("model %q comes from a file that no longer exists", got)
	}
	if err := os.WriteFile(path, []byte(`{"sandbox":"off"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if keys := l.Set().NeedsTrust(); len(keys) != 1 {
		t.Errorf("needs trust for %v", keys)
	}
	if err := src.Trust.Allow(src.Root, l.Set().Untrusted()); err != nil {
		t.Fatal(err)
	}
	if config, notices, _ := l.Session(nil); config.Sandbox != "off" || len(notices) != 0 {
		t.Errorf("trusted: %+v, %q", config.Sandbox, notices)
	}
}
