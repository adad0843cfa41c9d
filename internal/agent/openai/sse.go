package openai

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// errTooLong is an event or a reply over Options.MaxReply.
var errTooLong = errors.New("the provider's reply is longer than allowed")

// errNoEvents is a stream that stays alive, by comments or single bytes, and tells nothing.
var errNoEvents = errors.New("the provider sends signs of life but no event")

// doneLine is the end mark of a chat stream.
var doneLine = []byte("[DONE]")

// normalizer turns a provider's event stream into the one form that go-openai reads right:
// one `data: JSON` line per event, ended by \n. It takes LF, CRLF and CR, a byte order
// mark, events of several data lines, a last event without its newline; it drops comments,
// empty events and other fields, and bounds the length. An error event keeps its own way
// past go-openai, which would lose its details: its object is marked (see errorMark).
type normalizer struct {
	src     io.Reader
	max     int           // bytes of one event
	silence time.Duration // longest time without an event, 0: any
	last    time.Time

	line    []byte // an unfinished line
	data    []byte // the data of the unfinished event
	lines   int    // data lines that data holds
	isError bool   // event: error
	skipLF  bool
	begun   bool
	out     []byte // ready for the reader: out[outPos:]
	outPos  int
	err     error
	done    bool // [DONE] was seen
}

// readSize is how much is asked of the connection at once.
const readSize = 32 << 10

// readBuffers are what a connection is read into; nothing of them is kept beyond the parsing of one read.
var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

func newNormalizer(src io.Reader, max int, silence time.Duration) *normalizer {
	return &normalizer{src: src, max: max, silence: silence, last: time.Now()}
}

// errorMark goes first in an error event's object, so that go-openai takes it for a chunk
// and hands it on as it is.
const errorMark = `{"_":0,`

func (n *normalizer) Read(p []byte) (int, error) {
	for n.outPos == len(n.out) {
		if n.err != nil {
			return 0, n.err
		}
		n.out, n.outPos = n.out[:0], 0
		n.fill()
	}
	k := copy(p, n.out[n.outPos:])
	n.outPos += k
	return k, nil
}

// fill reads once and parses what came.
func (n *normalizer) fill() {
	buf := readBuffers.Get().(*[readSize]byte)
	k, err := n.src.Read(buf[:])
	before := len(n.out)
	n.parse(buf[:k])
	readBuffers.Put(buf)
	if n.err == nil && len(n.line)+len(n.data) > n.max {
		n.err = errTooLong
	}
	if err != nil && n.err == nil {
		if err == io.EOF {
			n.endLine()
			n.endEvent()
		}
		n.err = err
	}
	switch {
	case len(n.out) > before:
		n.last = time.Now()
	case n.err == nil && n.silence > 0 && time.Since(n.last) > n.silence:
		n.err = errNoEvents
	}
}

func (n *normalizer) parse(b []byte) {
	for len(b) > 0 {
		if n.skipLF {
			n.skipLF = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		i := bytes.IndexByte(b, '\n')
		if r := bytes.IndexByte(upTo(b, i), '\r'); r >= 0 {
			i, n.skipLF = r, true
		}
		if i < 0 {
			n.line = append(n.line, b...)
			return
		}
		if len(n.line) == 0 {
			n.take(b[:i])
		} else {
			n.line = append(n.line, b[:i]...)
			n.endLine()
		}
		b = b[i+1:]
	}
}

// upTo returns b up to i, or all of it where i is negative.
func upTo(b []byte, i int) []byte {
	if i < 0 {
		return b
	}
	return b[:i]
}

func (n *normalizer) endLine() {
	line := n.line
	n.line = n.line[:0]
	if len(line) > 0 {
		n.take(line)
	}
}

// take handles one whole line.
func (n *normalizer) take(line []byte) {
	if !n.begun {
		n.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		n.endEvent()
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		n.addData(value)
	case "event":
		n.isError = string(bytes.TrimSpace(value)) == "error"
	}
}

// addData adds a data line. Providers that forget the blank line between two events are
// common, so an event whose first line is whole JSON ends there. (Only the first line is
// looked at: to look at all of them would take quadratic time.)
func (n *normalizer) addData(value []byte) {
	if n.lines == 1 && whole(n.data) || n.lines > 0 && bytes.Equal(bytes.TrimSpace(value), doneLine) {
		isError := n.isError
		n.endEvent()
		n.isError = isError
	}
	if n.lines > 0 {
		n.data = append(n.data, ' ')
	}
	n.lines++
	n.data = append(n.data, value...)
}

// whole says whether the data may be a whole event: it begins and ends like one.
func whole(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) == 0 || data[0] == '{' && data[len(data)-1] == '}' && balanced(data) || bytes.Equal(data, doneLine)
}

// balanced says whether all braces and brackets outside strings are closed.
func balanced(data []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return depth == 0 && !inString
}

func (n *normalizer) endEvent() {
	data := bytes.TrimSpace(n.data)
	isError := n.isError
	n.data, n.lines, n.isError = n.data[:0], 0, false
	if len(data) == 0 {
		return
	}
	n.out = append(n.out, "data: "...)
	switch {
	case bytes.Equal(data, doneLine):
		n.done = true
		n.out = append(n.out, data...)
	case isErrorObject(data):
		n.out = append(append(n.out, errorMark...), data[1:]...)
	case isError:
		n.out = append(append(append(append(n.out, errorMark...), `"error":`...), quoteUnlessJSON(data)...), '}')
	default:
		n.out = append(n.out, data...)
	}
	n.out = append(n.out, '\n', '\n')
}

// isErrorObject says whether the event's object begins with an error.
func isErrorObject(data []byte) bool {
	if data[0] != '{' {
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(data[1:], " \t"), []byte(`"error"`))
}
