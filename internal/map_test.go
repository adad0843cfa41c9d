package internal_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The code map in ARCHITECTURE.md contains every package of the program with its purpose.
func TestEveryPackageIsOnTheMap(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## Code map")
	section, _, _ := strings.Cut(rest, "\n## ")
	packages, reported := map[string]bool{}, map[string]bool{}
	walkTree(func(file string) {
		dir := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || !strings.HasSuffix(file, ".go") ||
			strings.Contains(file, "testdata/") || strings.Contains(file, "/sample/") {
			return
		}
		packages[dir] = true
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		reported[dir] = reported[dir] || packageComment.Match(text)
	})
	for dir := range packages {
		if !reported[dir] {
			t.Errorf("%s: no file states the purpose of the package", dir)
		}
		named := false
		for _, name := range []string{dir, strings.TrimPrefix(dir, "internal/"), path.Base(dir),
			strings.SplitN(dir, "/", 2)[0]} {
			named = named || strings.Contains(section, "`"+name+"`")
		}
		if !named {
			t.Errorf("the code map in ARCHITECTURE.md does not list %s", dir)
		}
	}
	if len(packages) < 30 {
		t.Errorf("only %d packages were found", len(packages))
	}
}

// packageComment matches a comment directly above the package clause.
var packageComment = regexp.MustCompile(`(?m)(^//.*|\*/)\r?\npackage `)

// Each step in docs/contribute/walks.md names a file and a function, and both exist.
func TestWalksNameFunctions(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs", "contribute", "walks.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\|[^|]*\\| `(internal/[^`]+\\.go)` \\| `(\\w+)` \\|$")
	rows := row.FindAllSubmatch(page, -1)
	if len(rows) < 15 {
		t.Errorf("%d steps", len(rows))
	}
	for _, r := range rows {
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(string(r[1]))))
		if err != nil {
			t.Error(err)
			continue
		}
		declared := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + string(r[2]) + `[\[(]`)
		if !declared.Match(text) {
			t.Errorf("%s does not declare %s", r[1], r[2])
		}
	}
}
