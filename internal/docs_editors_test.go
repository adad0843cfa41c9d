package internal_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// setUp returns the n-th code block of the given kind below a heading in docs/use/editors.md.
func setUp(t *testing.T, heading, kind string, n int) string {
	t.Helper()
	for _, p := range pages() {
		if p.path != "docs/use/editors.md" {
			continue
		}
		_, section, _ := strings.Cut(p.text, "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if blocks := (page{text: section}).blocks(kind); len(blocks) > n {
			return blocks[n].text
		}
	}
	t.Fatalf("docs/use/editors.md has no block %d of %s below %s", n, kind, heading)
	return ""
}

// tomlTables parses the subset of TOML that the setups use: tables, arrays of tables, and values
// that have the same syntax in JSON.
func tomlTables(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	tables, name := map[string]map[string]any{}, ""
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		key, value, isValue := strings.Cut(line, " = ")
		switch {
		case line == "":
		case !isValue && strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			name = strings.Trim(line, "[]")
			tables[name] = map[string]any{}
		default:
			var v any
			if err := json.Unmarshal([]byte(value), &v); err != nil || tables[name] == nil {
				t.Fatalf("%s: %v", line, err)
			}
			tables[name][key] = v
		}
	}
	return tables
}

// The setup for Helix defines a language server that runs agent-lsp, and lists this server by its
// name for a language.
func TestHelixSetUp(t *testing.T) {
	tables := tomlTables(t, setUp(t, "Helix", "toml", 0))
	if got := tables["language-server.agent-lsp"]["command"]; got != "agent-lsp" {
		t.Errorf("the command is %v", got)
	}
	servers, _ := tables["language"]["language-servers"].([]any)
	if tables["language"]["name"] == nil || !slices.Contains(servers, any("agent-lsp")) {
		t.Errorf("the language is %v", tables["language"])
	}
}

// decodeSetUp decodes a JSON block. Fields that are not in into are errors.
func decodeSetUp(t *testing.T, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// The setup for Kate starts agent-lsp, and its regular expression matches only complete mode names.
func TestKateSetUp(t *testing.T) {
	var config struct {
		Servers map[string]struct {
			Command               []string
			HighlightingModeRegex string
		}
	}
	decodeSetUp(t, setUp(t, "Kate", "json", 0), &config)
	for _, s := range config.Servers {
		modes, err := regexp.Compile(s.HighlightingModeRegex)
		if err != nil || !slices.Equal(s.Command, []string{"agent-lsp"}) ||
			!modes.MatchString("Python") || modes.MatchString("Pythonic") {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if len(config.Servers) != 1 {
		t.Errorf("%d servers", len(config.Servers))
	}
}

// The setup for Sublime Text starts agent-lsp, and agent-lsp accepts the command in the palette
// entry.
func TestSublimeSetUp(t *testing.T) {
	t.Parallel()
	var clients map[string]struct {
		Enabled  bool
		Command  []string
		Selector string
	}
	decodeSetUp(t, setUp(t, "Sublime Text", "json", 0), &clients)
	var palette []struct {
		Caption, Command string
		Args             struct {
			Session string                  `json:"session_name"`
			Name    string                  `json:"command_name"`
			Args    []struct{ Text string } `json:"command_args"`
		}
	}
	decodeSetUp(t, setUp(t, "Sublime Text", "json", 1), &palette)
	if len(palette) != 1 || len(palette[0].Args.Args) != 1 {
		t.Fatalf("%+v", palette)
	}
	entry := palette[0]
	client, known := clients[entry.Args.Session]
	if !known || !client.Enabled || !slices.Equal(client.Command, []string{"agent-lsp"}) ||
		entry.Command != "lsp_execute" {
		t.Errorf("%+v does not start the program of %+v", entry, clients)
	}
	editor := startProgram(t)
	if err := editor.Call("initialize", map[string]any{"capabilities": map[string]any{}},
		nil); err != nil {
		t.Fatal(err)
	}
	if err := editor.Notify("initialized", map[string]any{}); err != nil {
		t.Fatal(err)
	}
	arguments := []any{map[string]any{"text": entry.Args.Args[0].Text}}
	if err := editor.Call("workspace/executeCommand",
		map[string]any{"command": entry.Args.Name, "arguments": arguments}, nil); err != nil {
		t.Error(err)
	}
	if err := editor.CloseStdin(); err != nil {
		t.Error(err)
	}
}
