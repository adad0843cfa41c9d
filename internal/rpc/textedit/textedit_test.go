package textedit

import (
	"encoding/json"
	"testing"
)

func TestApply(t *testing.T) {
	changes, err := Changes(json.RawMessage(`{"edit":{"documentChanges":[{"textDocument":{"uri":"file:///a","version":7},"edits":[
		{"range":{"start":{"line":2,"character":0},"end":{"line":3,"character":0}},"newText":"C\n"},
		{"range":{"start":{"line":0,"character":2},"end":{"line":0,"character":3}},"newText":""},
		{"range":{"start":{"line":9,"character":0},"end":{"line":9,"character":0}},` +
		`"newText":"end"}]}]}}`))
	if err != nil || len(changes) != 1 || changes[0].TextDocument.URI != "file:///a" ||
		*changes[0].TextDocument.Version != 7 {
		t.Fatalf("%+v, %v", changes, err)
	}
	edits := changes[0].Edits
	if got, err := Apply("éa\nb\nc\n", edits); err != nil || got != "é\nb\nC\nend" {
		t.Errorf("%q, %v", got, err)
	}
	if edits[0].NewText != "C\n" {
		t.Error("the caller's edits were sorted")
	}
	if _, err := Apply("abc", append(edits[1:2:2], edits[1])); err == nil {
		t.Error("overlapping edits were applied")
	}
	if _, err := Changes(json.RawMessage(`{"edit":3}`)); err == nil {
		t.Error("an invalid edit was accepted")
	}
}
