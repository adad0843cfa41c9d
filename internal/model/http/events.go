package modelhttp

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// ErrNoEvents is a stream that stays alive, by comments or single bytes, and sends no event.
var ErrNoEvents = errors.New("the provider sends signs of life but no event")

// Event is one event of a stream.
type Event struct {
	Data    []byte // without white space at its ends; valid until the next call of Next
	IsError bool   // its name is error
}

// Events reads an event stream as providers send it: with LF, CRLF and CR, a byte order mark,
// events of several data lines, events without a blank line between them, a last event without
// its newline. Comments, empty events and other fields are dropped, and the length of an event
// is bounded. One goroutine uses it.
type Events struct {
	// Ended is set when the end mark was read.
	Ended bool

	src     io.Reader
	max     int           // bytes of one event
	silence time.Duration // longest time without an event, 0: any
	endMark []byte        // data of the event that ends the stream
	last    time.Time

	line    []byte // an unfinished line
	data    []byte // the data of the unfinished event
	lines   int    // data lines that data has
	isError bool   // event: error
	skipLF  bool
	begun   bool
	out     []byte // data of the events that are ready
	ready   []span // in out
	next    int    // index in ready
	err     error
}

// span is an event's data in Events.out.
type span struct {
	from, to int
	isError  bool
}

// readSize is how much is asked of the connection at once.
const readSize = 32 << 10

// readBuffers are what a connection is read into; nothing of them is kept beyond the parsing of one
// read.
var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// NewEvents returns a reader of the events in src, of at most max bytes each. It fails if for
// longer than silence no event comes; 0 is without limit. endMark is "" where the API has none.
func NewEvents(src io.Reader, max int, silence time.Duration, endMark string) *Events {
	return &Events{src: src, max: max, silence: silence, endMark: []byte(endMark), last: time.Now()}
}

// Next returns the next event. After the last one the error is io.EOF.
func (n *Events) Next() (Event, error) {
	for n.next == len(n.ready) {
		if n.err != nil {
			return Event{}, n.err
		}
		n.out, n.ready, n.next = n.out[:0], n.ready[:0], 0
		n.fill()
	}
	e := n.ready[n.next]
	n.next++
	return Event{n.out[e.from:e.to], e.isError}, nil
}

// Ready reports whether Next returns an event that was read already.
func (n *Events) Ready() bool { return n.next < len(n.ready) }

// fill reads once and parses what came.
func (n *Events) fill() {
	buf := readBuffers.Get().(*[readSize]byte)
	k, err := n.src.Read(buf[:])
	n.parse(buf[:k])
	readBuffers.Put(buf)
	if n.err == nil && len(n.line)+len(n.data) > n.max {
		n.err = errLongEvent
	}
	if err != nil && n.err == nil {
		if err == io.EOF {
			n.endLine()
			n.endEvent()
		}
		n.err = err
	}
	switch {
	case len(n.ready) > 0:
		n.last = time.Now()
	case n.err == nil && n.silence > 0 && time.Since(n.last) > n.silence:
		n.err = ErrNoEvents
	}
}

func (n *Events) parse(b []byte) {
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

func (n *Events) endLine() {
	line := n.line
	n.line = n.line[:0]
	if len(line) > 0 {
		n.take(line)
	}
}

// take handles one whole line.
func (n *Events) take(line []byte) {
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
func (n *Events) addData(value []byte) {
	if n.lines == 1 && n.whole(n.data) || n.lines > 0 && n.isEndMark(bytes.TrimSpace(value)) {
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
func (n *Events) whole(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) == 0 || data[0] == '{' && data[len(data)-1] == '}' && balanced(data) ||
		n.isEndMark(data)
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

func (n *Events) isEndMark(data []byte) bool {
	return len(n.endMark) > 0 && bytes.Equal(data, n.endMark)
}

func (n *Events) endEvent() {
	data := bytes.TrimSpace(n.data)
	isError := n.isError
	n.data, n.lines, n.isError = n.data[:0], 0, false
	if len(data) == 0 {
		return
	}
	from := len(n.out)
	n.out = append(n.out, data...)
	n.ready = append(n.ready, span{from, len(n.out), isError})
	n.Ended = n.Ended || n.isEndMark(data)
}
