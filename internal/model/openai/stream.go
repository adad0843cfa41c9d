package openai

import (
	"bytes"
	"io"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// endMark is the data of the event that ends a stream of the chat API.
const endMark = "[DONE]"

// errorMark is the beginning of the object of an error event. With this beginning, go-openai treats
// the object as a chunk and passes it on unchanged.
const errorMark = `{"_":0,`

// stream converts an answer to the one form that go-openai parses correctly: one `data: JSON` line
// per event, followed by an empty line. go-openai would lose the details of an error event, so
// stream marks the object of such an event (see errorMark).
type stream struct {
	events *modelhttp.Events // nil if the answer was a single document, which is then in out
	out    []byte            // ready to be read: out[pos:]
	pos    int
}

func newStream(a *modelhttp.Answer) *stream {
	s := &stream{events: a.Events}
	if a.Events == nil {
		s.add(modelhttp.Event{Data: bytes.TrimSpace(oneLine(a.Whole))})
		if !bytes.HasPrefix(s.out, []byte("data: "+errorMark)) {
			s.out = append(s.out, "data: "+endMark+"\n\n"...)
		}
	}
	return s
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for s.pos == len(s.out) {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	k := copy(p, s.out[s.pos:])
	s.pos += k
	return k, nil
}

// fill adds the next event, and all further events that are available without another read.
func (s *stream) fill() error {
	s.out, s.pos = s.out[:0], 0
	if s.events == nil {
		return io.EOF
	}
	e, err := s.events.Next()
	if err != nil {
		return err
	}
	s.add(e)
	for s.events.Ready() {
		if e, err = s.events.Next(); err != nil {
			return nil
		}
		s.add(e)
	}
	return nil
}

// add appends an event.
func (s *stream) add(e modelhttp.Event) {
	s.out = append(s.out, "data: "...)
	switch {
	case isErrorObject(e.Data):
		s.out = append(append(s.out, errorMark...), e.Data[1:]...)
	case e.IsError:
		s.out = append(
			append(
				append(append(s.out, errorMark...), `"error":`...),
				modelhttp.QuoteUnlessJSON(e.Data)...),
			'}',
		)
	default:
		s.out = append(s.out, e.Data...)
	}
	s.out = append(s.out, '\n', '\n')
}

// isErrorObject reports whether data is an object whose first member is "error".
func isErrorObject(data []byte) bool {
	if data[0] != '{' {
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(data[1:], " \t"), []byte(`"error"`))
}

// oneLine replaces line endings with spaces. Line endings are only white space in JSON.
func oneLine(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b)
}
