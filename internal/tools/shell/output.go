package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// readSize is the maximum number of bytes per read of a command's output.
const readSize = 64 << 10

// capture keeps the beginning and the end of an output in bounded memory, and writes the complete
// output to a file if it is longer. One goroutine writes to the capture. result is called after the
// last write.
type capture struct {
	head, tail   []byte
	headCap      int
	tailCap      int
	next         int // position of the next byte in tail once the ring is full
	total        int64
	spillDir     string
	spillMax     int64
	redact       func(file io.WriteCloser) io.WriteCloser
	spill        io.WriteCloser
	spilled      int64
	spillPath    string
	spillStopped bool
}

func newCapture(
	c *Command,
	dir string,
	redact func(io.WriteCloser) io.WriteCloser,
) *capture {
	k := &capture{headCap: c.HeadBytes, tailCap: c.TailBytes, spillDir: c.SpillDir,
		spillMax: c.SpillBytes, redact: redact}
	if k.headCap <= 0 {
		k.headCap = defaultHead
	}
	if k.tailCap <= 0 {
		k.tailCap = defaultTail
	}
	if k.spillMax == 0 {
		k.spillMax = defaultSpill
	}
	if k.spillDir == "" {
		k.spillDir = dir
	}
	k.spillStopped = k.spillMax < 0
	return k
}

func (k *capture) write(p []byte) {
	if k.total+int64(len(p)) > int64(k.headCap+k.tailCap) {
		k.toSpill(p)
	}
	k.total += int64(len(p))
	if room := k.headCap - len(k.head); room > 0 {
		n := min(room, len(p))
		k.head = append(k.head, p[:n]...)
		p = p[n:]
	}
	k.toTail(p)
}

func (k *capture) toTail(p []byte) {
	if len(p) > k.tailCap {
		p = p[len(p)-k.tailCap:]
		k.tail, k.next = k.tail[:0], 0
	}
	if room := k.tailCap - len(k.tail); room > 0 {
		n := min(room, len(p))
		k.tail = append(k.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(k.tail[k.next:], p)
		k.next = (k.next + n) % k.tailCap
		p = p[n:]
	}
}

// toSpill writes p to the file. The first call also writes the output that is in memory.
func (k *capture) toSpill(p []byte) {
	if k.spillStopped {
		return
	}
	if k.spill == nil {
		err := os.MkdirAll(k.spillDir, 0o700)
		var f *os.File
		if err == nil {
			f, err = os.CreateTemp(k.spillDir, "output-*.txt")
		}
		if err != nil {
			k.spillStopped = true
			return
		}
		k.spill, k.spillPath = f, f.Name()
		if k.redact != nil {
			k.spill = k.redact(f)
		}
		k.put(k.head)
		k.put(k.orderedTail())
	}
	k.put(p)
}

func (k *capture) put(p []byte) {
	if room := k.spillMax - k.spilled; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := k.spill.Write(p)
	k.spilled += int64(n)
	if err != nil || k.spilled >= k.spillMax {
		k.spillStopped = true
	}
}

func (k *capture) orderedTail() []byte {
	out := make([]byte, 0, len(k.tail))
	return append(append(out, k.tail[k.next:]...), k.tail[:k.next]...)
}

// result sets the output fields of r and closes the file.
func (k *capture) result(r *Result) {
	r.Total = k.total
	r.Truncated = k.total > int64(k.headCap+k.tailCap)
	if k.spill != nil {
		r.SpillPath, r.Spilled = k.spillPath, k.spilled
		if err := k.spill.Close(); err != nil { // not all of the text that was held back is there
			if info, err := os.Stat(k.spillPath); err == nil {
				r.Spilled = min(k.spilled, info.Size())
			}
		}
	}
	if r.Truncated {
		r.Head, r.Tail = k.head, k.orderedTail()
		return
	}
	r.Head = append(k.head, k.orderedTail()...)
}

// pump reads until the end of r, a deadline or an error.
func (k *capture) pump(r io.Reader, live func([]byte)) {
	cut := runeCutter{emit: live}
	readAll(r, make([]byte, readSize), func(p []byte) {
		k.write(p)
		cut.write(p)
	})
	cut.flush()
}

// readAll reads until the end of r, an error, or a deadline. At the deadline, it also reads the
// bytes that are still in the pipe.
func readAll(r io.Reader, buf []byte, take func([]byte)) {
	for {
		n, err := r.Read(buf)
		if n > 0 {
			take(buf[:n])
		}
		if pipe, ok := r.(*os.File); ok && errors.Is(err, os.ErrDeadlineExceeded) {
			rest(pipe, buf, take)
		}
		if err != nil {
			return
		}
	}
}

// runeCutter passes bytes on so that no character is split between two calls.
type runeCutter struct {
	emit  func([]byte)
	carry []byte
}

func (c *runeCutter) write(p []byte) {
	if c.emit == nil {
		return
	}
	if len(c.carry) > 0 {
		p = append(c.carry, p...)
		c.carry = nil
	}
	n := wholeRunes(p)
	if n < len(p) {
		c.carry = append([]byte(nil), p[n:]...)
	}
	if n > 0 {
		c.emit(p[:n])
	}
}

func (c *runeCutter) flush() {
	if c.emit != nil && len(c.carry) > 0 {
		c.emit(c.carry)
	}
	c.carry = nil
}

// wholeRunes returns the length of p without an incomplete character at its end.
func wholeRunes(p []byte) int {
	for i := 1; i <= min(utf8.UTFMax, len(p)); i++ {
		b := p[len(p)-i]
		if utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

// Binary reports whether the output is not text.
func (r *Result) Binary() bool {
	sample := r.Head[:min(len(r.Head), 8<<10)]
	bad := 0
	for i := 0; i < len(sample); {
		c, n := utf8.DecodeRune(sample[i:])
		if c == 0 {
			return true
		}
		if c == utf8.RuneError && n == 1 {
			bad++
		}
		i += n
	}
	return bad*10 > len(sample)
}

// Text returns the output as text for the model or the user. If the output is too long, Text
// returns its two ends, with a note between them that states what is missing and where the complete
// output is.
func (r *Result) Text() string {
	if r.Binary() {
		return fmt.Sprintf("[binary output of %d bytes is not shown%s]", r.Total, r.where())
	}
	if !r.Truncated {
		return string(r.Head)
	}
	omitted := r.Total - int64(len(r.Head)+len(r.Tail))
	return fmt.Sprintf("%s\n[… %d bytes omitted%s …]\n%s", r.Head, omitted, r.where(), r.Tail)
}

func (r *Result) where() string {
	if r.SpillPath == "" {
		return ""
	}
	what := "the full output is"
	if r.Spilled < r.Total {
		what = fmt.Sprintf("the first %d bytes are", r.Spilled)
	}
	return "; " + what + " in " + r.SpillPath + "; read or grep it"
}

// Status describes in a few words how the command ended, or returns "" if it succeeded.
func (r *Result) Status() string {
	switch {
	case r.Lost:
		return "its supervisor was killed; the remaining processes of the command have been terminated"
	case r.TimedOut:
		return fmt.Sprintf("stopped after its time limit (%.1f s)", r.Duration.Seconds())
	case r.Aborted:
		return "aborted"
	case r.Signal != "":
		return "ended by signal " + r.Signal
	case r.ExitCode != 0:
		return fmt.Sprintf("exit code %d", r.ExitCode)
	}
	return ""
}
