package clip

import "testing"

func TestClip(t *testing.T) {
	for _, c := range []struct {
		how  string
		f    func(string, int) string
		in   string
		n    int
		want string
	}{
		{"bytes that fit", Bytes, "häll", 5, "häll"},
		{"bytes that do not", Bytes, "hello", 4, "hell…"},
		{"within a character", Bytes, "häll", 2, "h…"},
		{"counted bytes that fit", Counted, "häll", 5, "häll"},
		{"counted bytes that do not", Counted, "hello", 4, "hell… (5 bytes)"},
		{"runes that fit", Runes, "häll", 4, "häll"},
		{"runes that do not", Runes, "hälla", 4, "häl…"},
		{"nothing", Runes, "", 4, ""},
	} {
		if got := c.f(c.in, c.n); got != c.want {
			t.Errorf("%s: %q, want %q", c.how, got, c.want)
		}
	}
}
