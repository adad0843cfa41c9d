package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// TestSeatbeltProfile compares the macOS profile as text, because other systems cannot run it.
func TestSeatbeltProfile(t *testing.T) {
	const head = `(version 1)
(allow default)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") ` +
		`(regex #"^/dev/fd/") (literal "/dev/stdout") (literal "/dev/stderr"))
`
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Tmp: "/t"}, `(allow file-write* (subpath "/t"))
(deny network*)
`},
		{Spec{Writable: []string{`/w"a\b`}, Tmp: "/t"}, `(allow file-write* (subpath "/w\"a\\b"))
(allow file-write* (subpath "/t"))
(deny network*)
`},
		{Spec{Tmp: "/t", Network: true}, `(allow file-write* (subpath "/t"))
`},
	} {
		got := seatbeltPrefix(c.spec)
		want := []string{"/usr/bin/sandbox-exec", "-p", head + c.want}
		if !slices.Equal(got, want) {
			t.Errorf("got %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
		}
	}
}
