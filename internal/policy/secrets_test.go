package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	r := NewRedactor("my-own-key-123", "short")
	for _, tc := range []struct{ in, want string }{
		{"nothing here", "nothing here"},
		{"the key is my-own-key-123.", "the key is [redacted]."},
		{"short stays", "short stays"},
		{"Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"},
		{`"authorization":"Basic dXNlcjpwYXNz"`, `"authorization":"Basic [redacted]"`},
		{"AUTHORIZATION=token abcdefgh", "AUTHORIZATION=token [redacted]"},
		{"x-api-key: 0123456789abcdef", "x-api-key: [redacted]"},
		{"OPENAI_API_KEY=abcdefgh12345678", "OPENAI_API_KEY=[redacted]"},
		{"api_key: short", "api_key: short"},
		{"sk-proj-abcdefghijklmnop1234", "[redacted]"},
		{"task-force is no key, nor is sk-12", "task-force is no key, nor is sk-12"},
		{"ghp_" + strings.Repeat("a", 36), "[redacted]"},
		{"AKIAABCDEFGHIJKLMNOP", "[redacted]"},
		{"AIza" + strings.Repeat("x", 35), "[redacted]"},
		{"xoxb-123456789012-abc", "[redacted]"},
		{"https://user:pass@host/x", "https://user:[redacted]@host/x"},
		{"https://host:8080/x@y", "https://host:8080/x@y"},
		{"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest",
			"[redacted]\nrest"},
		{"an unfinished\n-----BEGIN PRIVATE KEY-----\nabc", "an unfinished\n[redacted]"},
	} {
		if got := r.Text(tc.in); got != tc.want {
			t.Errorf("%q became %q, want %q", tc.in, got, tc.want)
		}
		if again := r.Text(r.Text(tc.in)); again != r.Text(tc.in) {
			t.Errorf("%q changes when it is redacted twice: %q", tc.in, again)
		}
	}
}

// TestRedactInJSON checks that a key is also found if it is quoted once or twice as JSON, or
// encoded in a URL.
func TestRedactInJSON(t *testing.T) {
	const key = `pa"ss\wo/rd+1`
	r := NewRedactor(key)
	text := "the provider said " + key
	for range 3 {
		if got := r.Text(text); strings.Contains(got, "rd+1") || !strings.Contains(got, Redacted) {
			t.Errorf("%s became %s", text, got)
		}
		text = `{"error":{"message":"` + quoted(text) + `"}}`
	}
	for in, secret := range map[string]string{
		"https://host/v1?key=pa%22ss%5Cwo%2Frd%2B1&x=1":                "pa%22ss%5Cwo%2Frd%2B1",
		`{"message":"{\"api_key\":\"0123456789abcdef\"}"}`:             "0123456789abcdef",
		`{"m":"{\"Authorization\": \"Basic dXNlcjpwYXNz\", \"a\":1}"}`: "dXNlcjpwYXNz",
		`"{\\\"x-api-key\\\":\\\"0123456789abcdef\\\"}"`:               "0123456789abcdef",
	} {
		want := strings.Replace(in, secret, Redacted, 1)
		if got := r.Text(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestRedactCostsNoMemoryWithoutASecret(t *testing.T) {
	r, text := NewRedactor("my-own-key-123"),
		strings.Repeat("a line of plain output, as any\n", 100)
	if n := testing.AllocsPerRun(100, func() { r.Text(text) }); n != 0 {
		t.Errorf("%v allocations for text without a secret", n)
	}
}

func BenchmarkRedact50KB(b *testing.B) {
	r, text := NewRedactor("my-own-key-123"),
		strings.Repeat("a line of plain output, as any\n", 1600)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}

func TestScrub(t *testing.T) {
	env := []string{"PATH=/bin", "OPENAI_API_KEY=x", "anthropic_api_key=y", "MY_KEY=z",
		"COPY=prefix-secretvalue-suffix", "HOME=/h", "AGENT_LSP_API_KEY=k", "AGENT_LSP_SCRIPT=f"}
	got := Scrubber{Names: []string{"MY_KEY"}, Values: []string{"secretvalue", "h"}}.Env(env)
	if want := []string{"PATH=/bin", "HOME=/h", "AGENT_LSP_SCRIPT=f"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Contains(ScrubEnv(env), "MY_KEY=z") ||
		slices.Contains(ScrubEnv(env), "OPENAI_API_KEY=x") {
		t.Errorf("got %q", ScrubEnv(env))
	}
}
