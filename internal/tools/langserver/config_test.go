package langserver

import (
	"encoding/json"
	"testing"
)

// TestSection checks that a server finds its section in nested settings, in dotted settings as in
// an editor's configuration, and in settings without the section's name.
func TestSection(t *testing.T) {
	for _, tc := range []struct{ settings, section, want string }{
		{"", "a", "null"},
		{`{"a":{"b":{"c":1}}}`, "a.b", `{"c":1}`},
		{`{"a":{"b":{"c":1}}}`, "a.b.c", "1"},
		{`{"a":{"b":1}}`, "a.c", "null"},
		{`{"a":{"b":1}}`, "", `{"a":{"b":1}}`},
		{`{"b":1}`, "a", `{"b":1}`},
		{`{"b.c":1}`, "a", `{"b.c":1}`},
		{`{"b":1}`, "a.b", "null"},
		{`{"a.b":{"c":1}}`, "a.b", `{"c":1}`},
		{`{"a.b.c":1}`, "a.b.c", "1"},
		{`{"a.b.c":1,"a.b.d":2}`, "a.b", `{"c":1,"d":2}`},
		{`{"a.b.c":1}`, "a", `{"b":{"c":1}}`},
		{`{"a":{"x":0},"a.b":{"https://x.y/z":12345678901234567890}}`, "a",
			`{"b":{"https://x.y/z":12345678901234567890},"x":0}`},
		{`{"a":1,"a.b":2}`, "a", "1"},
		{`[1]`, "a.b", "null"},
		{`[1]`, "a", "[1]"},
	} {
		if got := sectionOf(json.RawMessage(tc.settings), tc.section); string(got) != tc.want {
			t.Errorf("%q of %s is %s, want %s", tc.section, tc.settings, got, tc.want)
		}
	}
}

// Commands that may write files or run programs are refused, even if their action is a quick fix.
// They include all unknown commands of gopls.
func TestCommandsThatEdit(t *testing.T) {
	for name, want := range map[string]bool{
		"gopls.apply_fix": true, "gopls.tidy": true, "gopls.vendor": false,
		"gopls.run_go_work_command": false, "gopls.generate": false, "gopls.of_the_future": false,
		"pyright.createtypestub": false, "pyright.organizeimports": true,
		"_typescript.applyCodeActionCommand": false, "_typescript.applyRefactoring": true,
		"clangd.applyFix": true,
	} {
		if commandEdits(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
