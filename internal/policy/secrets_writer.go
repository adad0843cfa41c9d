package policy

import (
	"bytes"
	"errors"
	"io"
)

// Limits of a Writer, in bytes.
const (
	// window is how much text a Writer collects before it removes the secrets.
	window = 256 << 10
	// longestSecret is the length up to which a secret is found although it arrives in pieces.
	longestSecret = 16 << 10
	// cutStep is the distance between two positions at which a Writer tries to cut the text.
	cutStep = 1 << 10
)

// Writer returns a writer that removes secrets from a text that arrives in pieces, and writes the
// rest to w. Close writes the text that is still held back, and closes w.
func (r *Redactor) Writer(w io.WriteCloser) io.WriteCloser { return &redactingWriter{r: r, w: w} }

type redactingWriter struct {
	r    *Redactor
	w    io.WriteCloser
	held []byte // not written yet, because a secret may continue in the next piece
}

func (w *redactingWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), window-len(w.held))
		w.held, rest = append(w.held, rest[:n]...), rest[n:]
		if len(w.held) == window {
			if err := w.pass(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (w *redactingWriter) Close() error {
	_, err := w.w.Write(w.r.Bytes(w.held))
	w.held = nil
	return errors.Join(err, w.w.Close())
}

// pass writes the held text except for its end.
func (w *redactingWriter) pass() error {
	clean, n := w.cut()
	_, err := w.w.Write(clean)
	w.held = append(w.held[:0], w.held[n:]...)
	return err
}

// cut returns a beginning of the held text without its secrets, and its length before they were
// removed. It cuts no secret in two, unless a secret is almost as long as the window.
func (w *redactingWriter) cut() (clean []byte, n int) {
	whole := w.r.Bytes(w.held)
	for n = len(w.held) - longestSecret; n > 0; n -= cutStep {
		// If the cut were inside a secret, the text after it would lack a part of the secret.
		if clean, ok := bytes.CutSuffix(whole, w.r.Bytes(w.held[n:])); ok {
			return clean, n
		}
	}
	return whole, len(w.held)
}
