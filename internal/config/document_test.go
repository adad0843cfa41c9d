package config

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false,
	"write the generated part of docs/reference/configuration.md")

const generatedMark = "<!-- The rest is generated from internal/config/types.go: go test ./internal/config -update -->\n"

// docs/reference/configuration.md describes every key in the same way as the code.
func TestDocumentation(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "configuration.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, ok := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), generatedMark)
	if !ok {
		t.Fatalf("%s has no mark of the generated part", path)
	}
	if want := "\n" + Document(); tail != want {
		if !*update {
			t.Fatalf("%s is out of date: go test ./internal/config -update", path)
		}
		if err := os.WriteFile(path, []byte(head+generatedMark+want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every settings example in docs/reference/configuration.md is valid, and loading it produces no
// notice.
func TestExamplesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```jsonc\n")
	if len(blocks) < 4 {
		t.Fatalf("%d examples", len(blocks)-1)
	}
	for _, b := range blocks[1:] {
		example, _, _ := strings.Cut(b, "```")
		s := Load(Sources{}).With(Flags, json.RawMessage(example))
		if len(s.Notices()) > 0 {
			t.Errorf("example %s: %v", example, s.Notices())
		}
		valid(t, plainJSON([]byte(example)), true)
	}
}

func TestSchema(t *testing.T) {
	valid(t, []byte(`{"model":"m","provider":{"stream":false},"mcpServers":{"s":{"command":"x",`+
		`"args":["y"]}},"permissions":{"profile":"ask","rules":["allow x"]}}`), true)
	valid(t, []byte(`{"provider":{"stream":"no"}}`), false)
	valid(t, []byte(`{"editPolicy":"always"}`), false)
	valid(t, []byte(`{"toolTimeoutMs":0}`), false)
}

// valid checks whether a document is valid according to Schema.
func valid(t *testing.T, doc []byte, want bool) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(v); (err == nil) != want {
		t.Errorf("%s: %v", doc, err)
	}
}
