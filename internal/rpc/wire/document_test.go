package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestProtocolIsDocumented checks that the protocol pages name every method and field in this
// package. The settings (config.go) have their own page.
func TestProtocolIsDocumented(t *testing.T) {
	words := map[string]bool{}
	for _, page := range protocolPages(t) {
		for _, w := range regexp.MustCompile(`[A-Za-z][A-Za-z0-9/]*`).FindAllString(page, -1) {
			words[w] = true
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		if name == "config.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range spelled(f) {
			seen++
			if !words[word] {
				t.Errorf("%s: docs/reference/protocol does not name %q", name, word)
			}
		}
	}
	if seen < 250 {
		t.Errorf("only %d names were found in the sources", seen)
	}
}

// protocolPages returns the content of each page in docs/reference/protocol, by file name.
func protocolPages(t *testing.T) map[string]string {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "docs", "reference", "protocol")
	files, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d protocol pages: %v", len(files), err)
	}
	pages := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = strings.ReplaceAll(string(b), "\r\n", "\n")
	}
	return pages
}

// spelled returns the methods and the JSON field names that a source file defines.
func spelled(f *ast.File) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && strings.HasPrefix(s, "agent/") {
				out = append(out, s)
			}
		case *ast.Field:
			if n.Tag == nil {
				return true
			}
			tag, _ := strconv.Unquote(n.Tag.Value)
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if name != "" {
				out = append(out, name)
			}
		}
		return true
	})
	return out
}

func TestListsAreWhole(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "methods.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, list := range [][]string{Requests, Notifications, ServerRequests} {
		for _, m := range list {
			listed[m] = true
		}
	}
	for _, m := range spelled(f) {
		if !listed[m] {
			t.Errorf("%s is not in any of the lists", m)
		}
	}
}

// Every error code is listed in docs/reference/protocol/connection.md, and
// docs/use/troubleshooting.md says what to do about the error.
func TestErrorCodesAreDocumented(t *testing.T) {
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)^\tCode\w+ += (-?\d+)`)
	codes := code.FindAllStringSubmatch(string(source), -1)
	if len(codes) < 20 {
		t.Errorf("only %d codes were found", len(codes))
	}
	for _, page := range []string{"reference/protocol/connection.md", "use/troubleshooting.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{}
		row := regexp.MustCompile(`(?m)^\| ((?:-?\d+(?:, )?)+) \|`)
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			for _, code := range strings.Split(m[1], ", ") {
				listed[code] = true
			}
		}
		for _, c := range codes {
			if !listed[c[1]] {
				t.Errorf("docs/%s does not list the error code %s", page, c[1])
			}
		}
	}
}
