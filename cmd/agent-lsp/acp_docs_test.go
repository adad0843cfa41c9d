package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"testing"
)

// The JSON that the documentation tells users to paste is JSON, and starts what exists.
func TestEditorsDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1) {
		if !bytes.Contains(m[1], []byte("agent_servers")) {
			continue // another editor's; TestJSONInDocs looks at it
		}
		var config struct {
			Servers map[string]struct {
				Command string
				Args    []string
			} `json:"agent_servers"`
		}
		if err := json.Unmarshal(m[1], &config); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
		for _, s := range config.Servers {
			found++
			if s.Command != "agent-lsp" || len(s.Args) != 1 || find(s.Args[0]) == nil {
				t.Errorf("%+v starts nothing", s)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d set-ups were found", found)
	}
}
