package message

import (
	"encoding/json"
	"testing"
)

// A clone shares no mutable data with the original and does not contain the cached encodings.
func TestClone(t *testing.T) {
	m := NewText(RoleAssistant, "text")
	m.Content = append(m.Content, Block{Type: ToolUse,
		Call: &ToolCall{ID: "c", Name: "read", Args: json.RawMessage(`{}`)}})
	m.Usage, m.Meta = &Usage{Input: 1}, map[string]json.RawMessage{"k": json.RawMessage(`1`)}
	encode := func(m *Message) ([]byte, error) { return json.Marshal(m) }
	before, err := m.Encoded("json", encode)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Clone()
	c.Content[0].Text, c.Content[1].Call.Name = "changed", "write"
	c.Usage.Input, c.Meta["k"] = 2, json.RawMessage(`2`)
	after, err := json.Marshal(m)
	if err != nil || string(after) != string(before) {
		t.Errorf("the original changed: %s\n%s %v", before, after, err)
	}
	if own, err := c.Encoded("json", encode); err != nil || string(own) == string(before) {
		t.Errorf("the copy kept the original's encoding: %s %v", own, err)
	}
}

// Blocks that were sent separately are displayed on separate lines, whether or not their texts end
// with a line break. The text is otherwise unchanged.
func TestShownText(t *testing.T) {
	for _, tc := range []struct {
		want   string
		blocks []string
	}{
		{"", nil}, {"one", []string{"one"}}, {"one\n\ntwo", []string{"one", "two"}},
		{"one\ntwo", []string{"one\n", "two"}}, {"one\ntwo", []string{"one", "\ntwo"}},
		{"one\n\n\ntwo", []string{"one\n", "\n\ntwo"}},
		{"one\n\ntwo", []string{"", "one", "", "two", ""}},
	} {
		m := &Message{Role: RoleUser}
		for _, text := range tc.blocks {
			m.Content = append(m.Content, Block{Type: Text, Text: text}, Block{Type: Image})
		}
		if got := m.ShownText(); got != tc.want {
			t.Errorf("%q is shown as %q, want %q", tc.blocks, got, tc.want)
		}
	}
}
