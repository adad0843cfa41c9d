package rpctest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryCommandIsDocumented checks that the table in the README of the session scripts lists
// exactly the existing commands.
func TestEveryCommandIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../testdata/session/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "## Commands")
	if !ok {
		t.Fatal("the README has no section on commands")
	}
	reported := map[string]bool{}
	for _, row := range strings.Split(table, "\n") {
		cells := strings.SplitN(row, " | ", 2)
		for _, m := range regexp.MustCompile("`([a-z-]+)").FindAllStringSubmatch(cells[0], -1) {
			reported[m[1]] = true
		}
	}
	for name := range commands {
		if !reported[name] {
			t.Errorf("%s is not documented", name)
		}
	}
	for name := range reported {
		if commands[name] == nil {
			t.Errorf("%s is documented but does not exist", name)
		}
	}
}
