package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// all returns the tools of a session that has every existing tool.
func all(t *testing.T) []tool.Tool {
	h := newHarness(t, func(d *Deps) {
		d.Ask = func(context.Context, *tool.Call, Question) (Answer, error) { return Answer{}, nil }
	})
	return h.session(func(s *Session) {
		s.Fetch = func() FetchOptions { return FetchOptions{} }
		s.WebSearch = func() WebSearchOptions { return WebSearchOptions{Endpoint: "https://example.org/search"} }
	}).tools
}

// TestStoredSchemas compares the stored schemas with schemas that are generated from the arguments.
func TestStoredSchemas(t *testing.T) {
	stored := schemas
	schemas = func() map[string]json.RawMessage { return nil }
	defer func() { schemas = stored }()
	generated := map[string]json.RawMessage{}
	for _, tool := range all(t) {
		if spec := tool.Spec(); spec.Schema != nil {
			generated[spec.Name] = spec.Schema
		}
	}
	var want []byte
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		want = fmt.Appendf(want, ",\n%q: %s", name, generated[name])
	}
	want = fmt.Appendf(nil, "{%s\n}\n", bytes.TrimPrefix(want, []byte(",")))
	if *update {
		if err := os.WriteFile("schemas.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		// The tests that follow update the golden files, so they need the new schemas.
		stored = func() map[string]json.RawMessage { return generated }
	} else if !bytes.Equal(storedSchemas, want) {
		t.Errorf("schemas.json differs (go test -run TestStoredSchemas -update); want\n%s", want)
	}
}

// The definition of each tool, as sent to the model, matches its golden file.
func TestSchemas(t *testing.T) {
	for _, tool := range all(t) {
		spec := tool.Spec()
		var schema any
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(map[string]any{
			"name": spec.Name, "label": spec.Label, "description": spec.Description,
			"effect": spec.Effect, "deferred": spec.Deferred, "schema": schema,
		}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		file := filepath.Join("testdata", "schema", spec.Name+".json")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != string(got) {
			t.Errorf("%s differs from %s (go test -run TestSchemas -update):\n%s", spec.Name, file,
				got)
		}
	}
}

// TestAlwaysSent checks which tools are always sent, and limits their share of the first request.
func TestAlwaysSent(t *testing.T) {
	const budget = 4800 // of the 8,000 bytes allowed for the first request
	var names []string
	size := 0
	for _, tool := range all(t) {
		spec := tool.Spec()
		if spec.Deferred {
			continue
		}
		names = append(names, spec.Name)
		sent, err := json.Marshal(map[string]any{"type": "function",
			"function": map[string]any{"name": spec.Name, "description": spec.Description,
				"parameters": spec.Schema}})
		if err != nil {
			t.Fatal(err)
		}
		size += len(sent) + 1
	}
	if got := strings.Join(names, " "); got != "read edit write grep glob bash tool_search" {
		t.Errorf("always sent: %s", got)
	}
	t.Logf("%d bytes", size)
	if size > budget {
		t.Errorf("the tools take %d bytes, at most %d are allowed", size, budget)
	}
}

// Each alias refers to an existing tool or parameter, and no two tools have the same name or alias.
func TestAliases(t *testing.T) {
	owner := map[string]string{}
	claim := func(name, tool string) {
		name = strings.ToLower(name)
		if owner[name] != "" {
			t.Errorf("%s and %s both have the name %s", owner[name], tool, name)
		}
		owner[name] = tool
	}
	for _, tool := range all(t) {
		spec := tool.Spec()
		claim(spec.Name, spec.Name)
		for _, a := range spec.Aliases {
			claim(a, spec.Name)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		for other, real := range spec.ParamAliases {
			hidden := spec.Name == "edit" &&
				(real == "patch" || real == "content" || real == "near_line" ||
					real == "expected_count") || spec.Name == "apply_patch" && real == "path"
			if schema.Properties[real] == nil && !hidden {
				t.Errorf("%s: %s is an alias of %s, which is not a parameter",
					spec.Name, other, real)
			}
			if schema.Properties[other] != nil {
				t.Errorf("%s: %s is both a parameter and an alias", spec.Name, other)
			}
		}
	}
}
