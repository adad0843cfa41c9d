package internal_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/config"
)

// top is the root folder of the repository.
const top = ".."

// mostLines limits the number of lines in pages that must stay short.
var mostLines = map[string]int{"README.md": 150, "ARCHITECTURE.md": 150}

var (
	fence      = regexp.MustCompile("(?ms)^[ \t]*```([\\w-]*)[^\n]*\n(.*?)^[ \t]*```[ \t]*$")
	inlineCode = regexp.MustCompile("`[^`\n]+`")
	link       = regexp.MustCompile(`(?m)(?:\]\(|^\[[^\]]+\]: )([^)\s]+)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	testName   = regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)`")
	sourcePath = regexp.MustCompile("`((?:internal|cmd|docs|scripts|editors|testdata)/[\\w./-]+)`")
	machine    = regexp.MustCompile(`(?:^|[\s"'(=` + "`" + `])(/(?:work|root|home|Users)/[^\s"')` +
		"`" + `]*)`)
)

// page is a Markdown file.
type page struct{ path, text, prose string }

type block struct{ kind, text string }

// pages returns all Markdown files in the repository.
var pages = sync.OnceValue(func() []page {
	var all []page
	walkTree(func(path string) {
		if filepath.Ext(path) != ".md" {
			return
		}
		b, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(path)))
		if err != nil {
			panic(err)
		}
		text := strings.ReplaceAll(string(b), "\r\n", "\n")
		all = append(all, page{path, text, fence.ReplaceAllString(text, "")})
	})
	return all
})

// walkTree calls f with the path of each file in the repository, with slashes as separators. It
// skips built and downloaded files.
func walkTree(f func(path string)) {
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			switch e.Name() {
			case ".git", "node_modules", "bin", "dist", "out", ".vscode-test":
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(top, path)
		if err == nil {
			f(filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		panic(err)
	}
}

func (p page) blocks(kinds ...string) (found []block) {
	for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
		for _, k := range kinds {
			if m[1] == k {
				found = append(found, block{m[1], m[2]})
			}
		}
	}
	return found
}

// Every relative link leads to a file that exists and, if the link has an anchor, to a heading that
// exists.
func TestLinks(t *testing.T) {
	for _, p := range pages() {
		for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(p.prose, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(p.path), file)
			if file == "" {
				target = p.path
			}
			checkTarget(t, p.path, m[1], target, anchor)
		}
	}
}

func checkTarget(t *testing.T, from, link, target, anchor string) {
	t.Helper()
	path := filepath.Join(top, target)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s: the target of the link %s does not exist", from, link)
		return
	}
	if anchor == "" {
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(string(b), ""), -1) {
		if slug(m[1]) == anchor {
			return
		}
	}
	t.Errorf("%s: %s has no heading %s", from, target, anchor)
}

// slug returns the anchor that GitHub generates for a heading.
func slug(h string) string {
	h = strings.ToLower(h)
	h = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(h, "")
	return strings.ReplaceAll(h, " ", "-")
}

// Every test, benchmark, fuzz target and file that a page names exists in the repository.
func TestNamesInDocs(t *testing.T) {
	known := testFunctions(t)
	for _, p := range pages() {
		for _, m := range testName.FindAllStringSubmatch(p.prose, -1) {
			if !known[m[1]] {
				t.Errorf("%s: there is no test %s", p.path, m[1])
			}
		}
		for _, m := range sourcePath.FindAllStringSubmatch(p.prose, -1) {
			if strings.ContainsAny(filepath.Base(m[1]), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
				!strings.HasSuffix(m[1], "README.md") {
				continue // a placeholder such as NAME.go
			}
			// A page in a separate module may name files relative to that module.
			_, beside := os.Stat(filepath.Join(top, filepath.Dir(p.path), m[1]))
			if _, err := os.Stat(filepath.Join(top, m[1])); err != nil && beside != nil {
				t.Errorf("%s: there is no file %s", p.path, m[1])
			}
		}
	}
}

// testFunctions returns the names of all functions in the repository's Go tests.
func testFunctions(t *testing.T) map[string]bool {
	known := map[string]bool{}
	walkTree(func(path string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, path), nil,
			parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				known[fn.Name.Name] = true
			}
		}
	})
	return known
}

// Every JSON example is valid. Examples with comments are settings, and loading them produces no
// notice.
func TestJSONInDocs(t *testing.T) {
	for _, p := range pages() {
		for _, b := range p.blocks("json") {
			if err := decodeAll(b.text); err != nil {
				t.Errorf("%s: %v in\n%s", p.path, err, b.text)
			}
		}
		for _, b := range p.blocks("jsonc") {
			checkSettings(t, p.path, b.text)
		}
	}
}

// decodeAll decodes consecutive JSON values until the end of the text.
func decodeAll(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func checkSettings(t *testing.T, from, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set := config.Load(config.Sources{UserFile: file, Environ: []string{"AZURE_OPENAI_KEY=k"}})
	for _, n := range set.Notices() {
		t.Errorf("%s: loading the settings gives the notice %v:\n%s", from, n, text)
	}
}

// The settings in the README can be loaded.
func TestReadmeSettings(t *testing.T) {
	for _, p := range pages() {
		if p.path != "README.md" {
			continue
		}
		blocks := p.blocks("json")
		if len(blocks) == 0 {
			t.Error("the README has no settings")
		}
		for _, b := range blocks {
			checkSettings(t, p.path, b.text)
		}
	}
}

// Pages stay short and do not mention folders that exist only on one machine.
func TestPagesStayShortAndPortable(t *testing.T) {
	for _, p := range pages() {
		if most, n := mostLines[p.path], strings.Count(p.text, "\n"); most > 0 && n > most {
			t.Errorf("%s has %d lines, more than %d", p.path, n, most)
		}
		for _, m := range machine.FindAllStringSubmatch(p.text, -1) {
			t.Errorf("%s contains the path %s of one machine", p.path, m[1])
		}
	}
}
