package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every session script runs against the strict provider. No script turns off the checks that real
// providers make.
func TestSessionScriptsAreStrict(t *testing.T) {
	for _, path := range sessionScripts(t, filepath.Join("..", "..", "testdata", "session")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"strict"`) {
			t.Errorf("%s changes the strictness of its provider", path)
		}
	}
}
