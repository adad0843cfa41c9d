package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#]+)`)

// editorTable returns the rows of a page's table of editors, split into cells.
func editorTable(t *testing.T, page, head string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), head)
	if !found {
		t.Fatalf("%s has no table %q", page, head)
	}
	for i, line := range strings.Split(after, "\n") {
		if i < 2 {
			continue // the rest of the head, and the rule
		}
		if !strings.HasPrefix(line, "| ") {
			break
		}
		rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
	}
	return rows
}

// The table of docs/editors.md comes from tests that run: each real editor's is started by
// make test, and each profile is a session script; none is left out.
func TestTableOfEditors(t *testing.T) {
	runs := ""
	for _, f := range []string{"../../Makefile", "../../editors/plain/run.sh", "../../editors/neovim/tests/run.sh", "../../editors/plain/vscode.sh"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		runs += string(b)
	}
	profiles := map[string]bool{}
	for _, row := range editorTable(t, "../../docs/editors.md", "| editor, without a plugin |") {
		if m := link.FindStringSubmatch(row[1]); m != nil {
			name := strings.TrimSuffix(filepath.Base(m[1]), "_spec.lua")
			if _, err := os.Stat(filepath.Join("../../docs", m[1])); err != nil || name == filepath.Base(m[1]) && !strings.Contains(runs, name) {
				t.Errorf("%s: the test %s is not run (%v)", row[0], m[1], err)
			}
		} else if row[1] != "no" {
			t.Errorf("%s: tested says %q", row[0], row[1])
		}
		m := link.FindStringSubmatch(row[2])
		if m == nil {
			t.Errorf("%s names no profile", row[0])
			continue
		}
		script, err := os.ReadFile(filepath.Join("../../docs", m[1]))
		version, _, _ := strings.Cut(strings.Trim(row[2], "["), "]")
		version, _, _ = strings.Cut(version, ",")
		if err != nil || !strings.Contains(string(script), version) || !strings.Contains(string(script), "Source: ") {
			t.Errorf("%s: %s is not of version %s (%v)", row[0], m[1], version, err)
		}
		profiles[filepath.Base(m[1])] = true
	}
	files, err := filepath.Glob("../../testdata/session/profile/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if !profiles[filepath.Base(f)] {
			t.Errorf("%s is not in the table", f)
		}
	}
}

// Each file that the README's table of editors names is there.
func TestReadmeTableOfEditors(t *testing.T) {
	rows := editorTable(t, "../../README.md", "| editor | how |")
	if len(rows) < 6 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		for _, cell := range row[1:] {
			for _, m := range link.FindAllStringSubmatch(cell, -1) {
				if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
					t.Errorf("%s: %v", row[0], err)
				}
			}
		}
	}
}

// Every set-up is at most ten lines.
func TestSetUpsAreShort(t *testing.T) {
	text, err := os.ReadFile("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("(?s)```(?:elisp|toml|jsonc?|lua)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		n++
		if lines := strings.Count(m[1], "\n"); lines > 10 {
			t.Errorf("%d lines:\n%s", lines, m[1])
		}
	}
	if n < 8 {
		t.Errorf("%d set-ups", n)
	}
}
