package session

import (
	"regexp"
	"strings"
	"testing"
)

// TestValidID compares validID with the regular expression for IDs.
func TestValidID(t *testing.T) {
	valid := regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9_-]{0,63}\z`)
	ids := []string{"", strings.Repeat("a", 64), strings.Repeat("a", 65), "..", "a/b", "a\n", "é"}
	for c := range 256 {
		ids = append(ids, string([]byte{byte(c)}), string([]byte{'a', byte(c)}))
	}
	for _, id := range ids {
		if got, want := validID(id), valid.MatchString(id); got != want {
			t.Errorf("validID(%q) = %v, want %v", id, got, want)
		}
	}
}
