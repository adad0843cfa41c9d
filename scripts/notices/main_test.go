package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The output contains the licenses of Go and of exactly those modules that
// docs/contribute/licenses.md lists as built in.
func TestNoticesOfTheProgram(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("GOOS", "linux")
	var out bytes.Buffer
	if err := notices(&out, "./cmd/agent-lsp"); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	headings := regexp.MustCompile(`(?m)^==== (\S+ v\S+): `)
	for _, m := range headings.FindAllStringSubmatch(out.String(), -1) {
		got = append(got, m[1])
	}
	page, err := os.ReadFile("docs/contribute/licenses.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\S+) \| (v\S+) \| .* \| built in \|$`)
	for _, m := range rows.FindAllStringSubmatch(string(page), -1) {
		want = append(want, m[1]+" "+m[2])
	}
	slices.Sort(want)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("licenses of\n%s\ndocs/contribute/licenses.md has\n%s", strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
	for _, text := range []string{"==== Go: LICENSE ====\n\nCopyright 2009 The Go Authors.",
		": LICENSE-SQLITE ===="} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("%q is missing", text)
		}
	}
}

// Only files in a module's root and in the linked folders are treated as its license files.
func TestLicenses(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"LICENSE", "NOTICE.txt", "a-license.md", "license.go", "README",
		"a/b/COPYING", "other/LICENSE"} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := part{name: "m", root: root, folders: []string{filepath.Join(root, "a", "b")}}.licenses()
	want := []string{"LICENSE", "NOTICE.txt", "a-license.md", filepath.Join("a", "b", "COPYING")}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
