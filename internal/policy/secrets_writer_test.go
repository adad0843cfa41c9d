package policy

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

type closingBuffer struct {
	bytes.Buffer
	closed bool
}

func (b *closingBuffer) Close() error { b.closed = true; return nil }

// A Writer removes secrets wherever the text is cut into pieces.
func TestRedactWhileWriting(t *testing.T) {
	const key = "my-own-key-123"
	r := NewRedactor(key)
	private := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIabcdefgh\n", 300) +
		"-----END PRIVATE KEY-----\n"
	secrets := []string{key, "sk-proj-abcdefghijklmnop1234", private}
	line := strings.Repeat("an ordinary line\n", 40)
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{3000, 100_000} {
		var in strings.Builder
		for in.Len() < window+window/2 {
			in.WriteString(line[:random.IntN(len(line))])
			in.WriteString(secrets[random.IntN(len(secrets))] + "\n")
		}
		var out closingBuffer
		w := r.Writer(&out)
		for rest := in.String(); rest != ""; {
			n := min(len(rest), 1+random.IntN(size))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil || !out.closed {
			t.Fatal(err, out.closed)
		}
		if got, want := out.String(), r.Text(in.String()); got != want {
			t.Fatalf("%d bytes instead of %d; key %v, sk %v, private %v", len(got), len(want),
				strings.Contains(got, key), strings.Contains(got, "sk-proj"),
				strings.Contains(got, "MIIa"))
		}
	}
}

// Text that cannot be cut outside a secret is not held back for ever.
func TestRedactAnEndlessSecret(t *testing.T) {
	var out closingBuffer
	w := NewRedactor().Writer(&out)
	for _, piece := range []string{"-----BEGIN PRIVATE KEY-----\n", strings.Repeat("x", 3*window)} {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(out.String(), Redacted) {
		t.Errorf("%d bytes: %.100s", out.Len(), out.String())
	}
}
