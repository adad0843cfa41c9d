package modelhttp

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// ErrNoEvents is the error for a stream that sends comments or single bytes but no event.
var ErrNoEvents = errors.New("the provider keeps the connection open but sends no event")

// Event is one event of a stream.
type Event struct {
	Data    []byte // data without surrounding white space; valid until the next call of Next
	IsError bool   // the event is named "error"
}

// Events reads an event stream in the forms that providers send. It supports LF, CRLF and CR, a
// byte order mark, events with several data lines, events without a blank line between them, and a
// last event without a newline. It drops comments, empty events and all fields except data and
// event, and limits the length of an event. Events belongs to one goroutine.
type Events struct {
	// Ended is set when the end mark has been read.
	Ended bool

	src     io.Reader
	max     int           // maximum number of bytes in one event
	silence time.Duration // maximum time without an event; 0 means unlimited
	endMark []byte        // data of the event that ends the stream
	last    time.Time

	line    []byte // an unfinished line
	data    []byte // the data of the unfinished event
	lines   int    // number of data lines in data
	isError bool   // whether the event is named "error"
	skipLF  bool
	begun   bool
	out     []byte // data of the complete events
	ready   []span // positions of the complete events in out
	next    int    // index in ready of the next event
	err     error
}

// span is the position of an event's data in Events.out.
type span struct {
	from, to int
	isError  bool
}

// readSize is the number of bytes that one read requests from the connection.
const readSize = 32 << 10

// readBuffers are the buffers for reading from a connection. Nothing refers to them after one read
// has been parsed.
var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// NewEvents returns a reader of the events in src. max is the maximum size of an event in bytes.
// silence is the maximum time without an event, and 0 means no limit. endMark is "" if the API has
// no end mark.
func NewEvents(src io.Reader, max int, silence time.Duration, endMark string) *Events {
	return &Events{src: src, max: max, silence: silence, endMark: []byte(endMark), last: time.Now()}
}

// Next returns the next event. After the last one it returns io.EOF.
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

// Ready reports whether Next can return an event without reading.
func (n *Events) Ready() bool { return n.next < len(n.ready) }

// fill reads once and parses the result.
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

// upTo returns the first i bytes of b, or all of b if i is negative.
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

// take processes one complete line.
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

// addData adds a data line. Many providers omit the blank line between two events. An event whose
// first line is complete JSON therefore ends there. Only the first line is checked, because
// checking all lines would take quadratic time.
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

// whole reports whether the data may be a complete event. It checks the brackets but does not parse
// the JSON.
func (n *Events) whole(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) == 0 || data[0] == '{' && data[len(data)-1] == '}' && balanced(data) ||
		n.isEndMark(data)
}

// balanced reports whether all braces and brackets outside strings are closed.
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
