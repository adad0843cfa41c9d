package wire

import (
	"encoding/json"
	"testing"
)

// A plain text prompt is encoded as a string, and any other content as blocks.
func TestPromptAcceptsBothForms(t *testing.T) {
	for in, want := range map[string]string{
		`"hi"`:                         `"hi"`,
		`[{"type":"text","text":"a"}]`: `"a"`,
		`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`: `[{"type":"text","text":"a"},` +
			`{"type":"text","text":"b"}]`,
		`[{"type":"resource","uri":"file:///a"}]`: `[{"type":"resource","uri":"file:///a"}]`,
		`null`: `[]`,
	} {
		var p Prompt
		if err := json.Unmarshal([]byte(in), &p); err != nil {
			t.Fatalf("decoding %s: %v", in, err)
		}
		got, err := json.Marshal(p)
		if err != nil || string(got) != want {
			t.Errorf("decoding %s gave %s (%v), want %s", in, got, err, want)
		}
	}
	var p Prompt
	if err := json.Unmarshal([]byte(`5`), &p); err == nil {
		t.Error("a number was accepted as a prompt")
	}
}
