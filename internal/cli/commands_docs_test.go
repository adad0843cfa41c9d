package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandPage checks that docs/reference/commands.md contains each command's help text exactly
// as the program prints it. `make docs` writes the page.
func TestCommandPage(t *testing.T) {
	const begin, end = "<!-- help texts -->\n", "<!-- end -->\n"
	path := filepath.Join("..", "..", "docs", "reference", "commands.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	head, rest, _ := strings.Cut(text, begin)
	_, tail, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no section between %q and %q", path, begin, end)
	}
	want := head + begin + helpTexts(t) + end + tail
	if text == want {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s differs from the help texts: run make docs", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// helpTexts returns one section for each top-level command, except help and version.
func helpTexts(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	for _, c := range (&program{}).commands().Commands() {
		if c.Name() == "help" || c.Name() == "version" {
			continue
		}
		fmt.Fprintf(&page, "\n## agent-lsp %s\n\n```text\n%s\n```\n", c.Name(),
			strings.TrimSpace(helpText(t, c)))
		for _, sub := range listed(c) {
			fmt.Fprintf(&page, "\n```text\n%s\n```\n", strings.TrimSpace(helpText(t, sub)))
		}
	}
	return page.String() + "\n"
}

// helpText returns the help text of a command, as printed by the program when called with that
// command's name.
func helpText(t *testing.T, c *cobra.Command) string {
	t.Helper()
	var out, errs bytes.Buffer
	args := append([]string{"help"}, strings.Fields(c.CommandPath())[1:]...)
	if code := Run(context.Background(), "0", args, nil, strings.NewReader(""), &out,
		&errs); code != 0 {
		t.Fatalf("%v ends with %d: %s", args, code, errs.String())
	}
	return out.String()
}
