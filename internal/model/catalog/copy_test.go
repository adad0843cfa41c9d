package catalog

import (
	"strings"
	"testing"
	"time"
)

const service = `[{"id":"anthropic","models":[{"id":"claude-next","name":"Next",
	"context_window":777000,"cost_per_1m_in":2,"cost_per_1m_out":4},{"id":""},
	{"id":"broken","context_window":-1}]},{"id":"empty"}]`

// A copy of the catalog replaces the model lists of the providers that it contains, can be stored
// and loaded, and leaves other providers unchanged.
func TestCopy(t *testing.T) {
	t.Cleanup(func() { Use(nil) })
	got, err := NewCopy([]byte(service), `"tag"`, time.Unix(5, 0))
	if err != nil || got.Models != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	data, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := Read(data)
	if err != nil || stored.ETag != `"tag"` || !stored.Fetched.Equal(time.Unix(5, 0)) {
		t.Fatalf("%+v, %v", stored, err)
	}
	if Lookup("anthropic", "claude-next").Window != 0 {
		t.Error("the data in the binary has the new model")
	}
	Use(stored)
	m := Lookup("anthropic", "claude-next")
	if m.Window != 777000 || m.Price != (Price{Input: 2, Output: 4}) {
		t.Errorf("the copy says %+v", m)
	}
	if m := Lookup("openai", "gpt-4.1"); m.Window != 1047576 {
		t.Errorf("a provider that is not in the copy: %+v", m)
	}
	Use(nil)
	if Lookup("anthropic", "claude-next").Window != 0 {
		t.Error("the copy is still in use")
	}
}

// Reading a damaged file, or one written by a newer version, returns an error with the reason.
func TestReadRefuses(t *testing.T) {
	for data, want := range map[string]string{
		"":                                   "it is damaged",
		`{"format":1,"lists":"a`:             "it is damaged",
		`{"format":1,"lists":["a"]}`:         "it is damaged",
		`{"format":1,"models":1,"lists":""}`: "it lists no models",
		`{"format":1,"lists":"a\tb\nc\n\n"}`: "it lists no models",
		`{"format":2,"models":{"a":[]}}`:     "a newer version of agent-lsp",
	} {
		if _, err := Read([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", data, err, want)
		}
	}
	if _, err := NewCopy([]byte("<html>"), "", time.Now()); err == nil {
		t.Error("a page is a catalog")
	}
}
