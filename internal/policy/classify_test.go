package policy

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const tables = "../../testdata/policy"

// lines returns the lines of a table without comments and empty lines.
func lines(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(tables, name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, line := range strings.Split(string(b), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

func unquote(s string) string {
	if strings.HasSuffix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s
}

func TestClassifyCommands(t *testing.T) {
	for _, line := range lines(t, "commands.txt") {
		want, command, _ := strings.Cut(line, " | ")
		command = unquote(command)
		if got := Classify(command); got.Class.String() != want {
			t.Errorf("%q is %v %q, want %s", command, got.Class, got.Reasons, want)
		} else if got.Class > ReadOnly && len(got.Reasons) == 0 {
			t.Errorf("%q is %v without a reason", command, got.Class)
		}
	}
}

func TestTheTablesAreLargeEnough(t *testing.T) {
	commands, slips := len(lines(t, "commands.txt")), len(lines(t, "slips.txt"))
	if commands+slips < 300 || slips*2 < 300 {
		t.Errorf("%d commands and %d attempts; want 300 in total, half of them attempts", commands,
			slips)
	}
	t.Logf("%d commands with their class, and %d attempts to bypass an allow rule", commands,
		slips)
}

func TestSlipsAreNeverReadOnly(t *testing.T) {
	for _, line := range lines(t, "slips.txt") {
		if got := Classify(unquote(line)); got.Class == ReadOnly {
			t.Errorf("%q is read_only: %+v", unquote(line), got.Parts)
		}
	}
}
