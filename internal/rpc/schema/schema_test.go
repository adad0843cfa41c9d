package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

func load(t *testing.T) *Schema {
	t.Helper()
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Messages encoded in Go are valid under the schema that clients use.
func TestEncodedMessagesFitTheSchema(t *testing.T) {
	raw, err := load(t).JSON()
	if err != nil {
		t.Fatal(err)
	}
	one, text := int32(1), "hello"
	hunks := []wire.Hunk{{HunkID: "h", State: "stale", MatchTier: "T0"}}
	base := wire.FileBase{EOL: "crlf"}
	capability := func(policies ...string) wire.ServerCapability {
		none := []string{}
		return wire.ServerCapability{Methods: none, Notifications: none, ServerRequests: none,
			EditPolicies: policies, Limits: map[string]int{}}
	}
	for name, v := range map[string]any{
		"PromptParams": wire.PromptParams{Prompt: wire.Prompt{{Type: "text", Text: "x"}}},
		"Proposal": wire.Proposal{State: "proposed", Files: []wire.ProposalFile{
			{Op: "modify", Placement: "proposed", Version: &one, Base: base, Hunks: hunks},
			{Op: "create", Placement: "applied", Base: base, Hunks: []wire.Hunk{}}}},
		"ServerCapability": capability("ask", "auto"),
		"ItemEvent":        wire.ItemEvent{Item: wire.Item{Type: "assistantMessage", Text: &text}},
		"Config":           config.Config{EditPolicy: "ask"},
	} {
		check(t, raw, name, v, true)
	}
	check(t, raw, "Config", map[string]any{"editPolicy": "sometimes"}, false)
	check(t, raw, "PromptParams", map[string]any{"prompt": 5}, false)
	check(t, raw, "Decision", wire.Decision{HunkID: "h", Action: "perhaps"}, false)
	check(t, raw, "ServerCapability", capability("never"), false)
}

func check(t *testing.T, raw []byte, name string, v any, fits bool) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	root["$ref"] = "#/$defs/" + name
	delete(root, "methods")
	body, _ := json.Marshal(root)
	var sch jsonschema.Schema
	if err := json.Unmarshal(body, &sch); err != nil {
		t.Fatal(err)
	}
	resolved, err := sch.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var instance any
	b, _ := json.Marshal(v)
	if err := json.Unmarshal(b, &instance); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(instance); (err == nil) != fits {
		t.Errorf("%s: valid under the schema: %v, want %v: %v\n%s", name, err == nil, fits, err, b)
	}
}

func TestClientTypes(t *testing.T) {
	s := load(t)
	for _, want := range []string{"export interface Proposal {", "  version: number | null;",
		`  "agent/prompt": { params: PromptParams; result: PromptResult };`,
		"  prompt: string | ContentBlock[];", "  seq: number;", `  action: "accept" | "reject";`,
		`  editPolicies: Array<"ask" | "review" | "collect" | "auto" | "confirm">;`} {
		if !strings.Contains(s.TypeScript(), want) {
			t.Errorf("the TypeScript types do not contain %q", want)
		}
	}
	for _, want := range []string{"---@meta", "---@class agent_lsp.Hunk",
		"---@field hunks agent_lsp.Hunk[]",
		"---@field version number|nil", `---@field action "accept"|"reject"`,
		`---@field editPolicies ("ask"|"review"|"collect"|"auto"|"confirm")[]`} {
		if !strings.Contains(s.Lua(), want) {
			t.Errorf("the Lua lacks %q", want)
		}
	}
}
