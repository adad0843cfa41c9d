package near

import "testing"

func TestOf(t *testing.T) {
	commands := []string{"serve", "acp", "run", "demo", "doctor", "models", "sessions", "trust",
		"schema", "bundle", "completion", "version", "help"}
	for misspelled, want := range map[string]string{
		"doctr": "doctor", "dcotor": "doctor", "session": "sessions", "Demo": "demo",
		"comp": "completion", "ru": "run", "hlep": "help",
		"se": "", "s": "", "frobnicate": "", "": "", "xyz": "", "modle": "",
	} {
		if got := Of(misspelled, commands); got != want {
			t.Errorf("%q: %q, want %q", misspelled, got, want)
		}
	}
	if got := Of("modle", []string{"mode", "model", "modes"}); got != "model" {
		t.Errorf("modle: %q", got)
	}
}
