package visible

import "testing"

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain text, é, 日本": "plain text, é, 日本",
		"a\x1b[2Jb":         `a\x1b[2Jb`,
		"a\tb\n":            `a\x09b\x0a`,
		"a\u202eb\u200bc":   `a\u202eb\u200bc`,
		"no\u00a0break":     `no\xa0break`,
		"a\u3164b":          `a\u3164b`,
		"\U000e0041":        `\U000e0041`,
		"a\ufe0fb":          `a\ufe0fb`,
		"a\u180bb":          `a\u180bb`,
		"a\U000e0100b":      `a\U000e0100b`,
		"a\u115fb\u17b4":    `a\u115fb\u17b4`,
		"a\u2800b\u034f":    `a\u2800b\u034f`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
