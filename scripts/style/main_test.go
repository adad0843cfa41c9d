package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const top = "../.."

// The strings that users see, and the layout of all files, have no findings. `make check` also runs
// Vale.
func TestTree(t *testing.T) {
	files, err := tree(top)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 500 {
		t.Errorf("only %d files are checked", len(files))
	}
	findings, err := checkWithoutVale(top, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// bad violates each kind of rule. good uses the same words correctly.
const (
	bad  = "The rule is told anew. It is no text. Of a crowd of prompts. That is the model's. A colour."
	good = "There is no text. It is no longer here. The model's answer stands for itself. It is cancelled."
	n    = 7 // one sentence for each word or phrase that a rule names
)

// planted contains files with the text of bad in places that users or readers see, and the text of
// good next to it.
var planted = map[string]string{
	"a.md": "# Title\n\n" + bad + "\n\n" + good + "\n\n`" + bad + "`\n\n```\n" + bad + "\n```\n",
	"cmd/a.go": "// Package a is fine. " + good + "\npackage a\n\n// F is bad. " + bad +
		"\nfunc F() {}\n",
	"cmd/b.go": `package a

var s = "The rule is told anew. It is no text. " +
	"Of a crowd of prompts. That is the model's. A colour."

var ok = "` + good + `"
`,
	"cmd/c.go": "package a\n\ntype T struct {\n\tF int `doc:\"" + bad + "\"`\n}\n",
	"editors/vscode/src/a.ts": "const s = 'The rule is told ' + " +
		"`anew. It is no text. Of a ${f('//', /'/)}`;\n" +
		"const t = `crowd of prompts. That is the model's. A colour.`;\n// " + good + "\n",
	"editors/vscode/src/b.ts": "// " + bad +
		"\nconst s = '" + strings.ReplaceAll(good, "'", "\\'") + "';\n",

	"editors/vscode/package.json": `{"title": "` + bad + `", "description": "` + good + `"}`,
	"editors/neovim/lua/a.lua": "local s = 'The rule is told anew. It is no text. ' .. " +
		"\"Of a crowd of prompts.\"\n" +
		"local t = [[That is the model's. A colour.]] -- fine\n",
	"editors/neovim/lua/b.lua": "-- " + bad + "\nlocal s = \"" + good + "\"\n",

	"editors/a.js":  "const s = 'told anew' // " + bad + "\n",
	"editors/a.mjs": "const s = 1 // " + bad + "\nconst re = /\"\\/\\/ told/\n/* " + good + " */\n",
	"editors/b.mjs": "// The rule is told anew. It is no text. Of\n// a crowd of prompts.\n" +
		"const s = 'That is the model\\'s. ' + `A colour.`\n",
	"scripts/a.sh": "#!/bin/sh\n# The rule is told anew. It is no text. Of a crowd of prompts.\n" +
		"x=${x#told}; y=\"a # told b\" # That is the model's. A colour.\n# " + good + "\n",

	"editors/neovim/doc/agent_lsp.txt": good + "\n" + bad + "\n",
}

// The check finds the text of bad in each file of planted, and accepts the text of good.
func TestPlantedSentences(t *testing.T) {
	if _, err := findVale(); err != nil {
		t.Skip(err)
	}
	dir := plant(t, planted)
	for file := range planted {
		findings, err := checkAll(dir, []string{file})
		if err != nil {
			t.Fatal(err)
		}
		var words int
		for _, f := range findings {
			if f.kind == "words" || f.kind == "strings" {
				words++
			}
		}
		if words != n {
			t.Errorf("%s: %d findings, want %d: %v", file, words, n, findings)
		}
	}
}

// plant writes files, together with the repository's rules, to a new folder.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	rules := os.DirFS(filepath.Join(top, "styles"))
	if err := os.CopyFS(filepath.Join(dir, "styles"), rules); err != nil {
		t.Fatal(err)
	}
	ini, err := os.ReadFile(filepath.Join(top, ".vale.ini"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".vale.ini"), string(ini))
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The check reports lines that are too wide and pages that are too long, except where they are
// allowed.
func TestLayout(t *testing.T) {
	wide := strings.Repeat("word ", 30) + "\n"
	for _, c := range []struct {
		file, content string
		want          []string
	}{
		{"a.md", wide, []string{"columns"}},
		{"a.md", "| " + wide, nil},
		{"a.md", "```\n" + wide + "```\n", nil},
		{"a.go", "package a\n\n// " + wide, []string{"columns"}},
		{"a.go", "package a\n\n" + strings.Repeat("\t", 24) + "// word\n", []string{"columns"}},
		{"a.go", "package a\n\n// https://example.org/" + wide, nil},
		{"a.go", "package a\n\nvar s = \"" + strings.TrimSpace(wide) + "\"\n", nil},
		{"a.go", "package a\n\n// \"" + strings.TrimSpace(wide) + "\"\n", []string{"columns"}},
		{"a.md", strings.Repeat("a\n", 251), []string{"lines"}},
		{"a.md", strings.Repeat("a\n", 250), nil},
		{"docs/reference/a.md", strings.Repeat("a\n", 251), nil},
	} {
		var kinds []string
		for _, f := range checkLayout(c.file, []byte(c.content)) {
			kinds = append(kinds, f.kind)
		}
		if !reflect.DeepEqual(kinds, c.want) {
			t.Errorf("%s %.20q…: %v, want %v", c.file, c.content, kinds, c.want)
		}
	}
}

// If Vale is not installed, the check says how to install it.
func TestWithoutVale(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	_, err := checkAll(plant(t, planted), []string{"a.md"})
	if !errors.Is(err, errNoVale) || !strings.Contains(err.Error(), "scripts/setup.sh") {
		t.Errorf("got %v", err)
	}
}
