package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// keptOfLong is the number of bytes that are kept from an overlong line. They are enough to find
// the ID.
const keptOfLong = 512

// NewLineStream returns a stream that reads one JSON message per line from in and writes to out,
// which must also use line framing. The stream answers an invalid or overlong line with an error
// and skips the line.
func NewLineStream(in io.Reader, out *Outbox) *Stream {
	s := NewStream(in, out)
	s.lines = true
	return s
}

// readMessageLine returns the next line that is not blank. If the input ends before the end of a
// line, that line is dropped, because the message is incomplete.
func (s *Stream) readMessageLine() ([]byte, error) {
	for {
		line, size, err := s.readWhole()
		if err != nil {
			return nil, err
		}
		if size > MaxFrame {
			return nil, &frameError{code: jsonrpc2.InvalidRequest, id: idOf(line),
				message: fmt.Sprintf("the line has %d bytes, but the limit is %d; it was skipped", size,
					MaxFrame)}
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// leadingID finds a message's ID if the ID comes first or directly after "jsonrpc", which is the
// usual order.
var leadingID = lazyregexp.New(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?` +
	`"id"\s*:\s*(?:(\d{1,15})|"([^"\\]*)")\s*,`)

// idOf returns the ID at the beginning of a line that is too long to parse, so that the client gets
// a response to its request.
func idOf(line []byte) jsonrpc2.ID {
	m := leadingID().FindSubmatch(line)
	switch {
	case m == nil:
		return jsonrpc2.ID{}
	case m[1] != nil:
		n, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return jsonrpc2.NewNumberID(n)
	}
	return jsonrpc2.NewStringID(string(m[2]))
}

// readWhole reads up to the next newline. If the line is longer than MaxFrame, readWhole keeps only
// its beginning.
func (s *Stream) readWhole() (line []byte, size int, err error) {
	if cap(s.body) > keepBuffer {
		s.body = nil
	}
	s.body = s.body[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		size += len(part)
		if err == nil && size == len(part) {
			// The whole line is in the buffer of s.in. It is valid until the next read.
			return part, size, nil
		}
		if size <= MaxFrame {
			s.body = append(s.body, part...)
		} else {
			s.body = s.body[:min(len(s.body), keptOfLong)]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return s.body, size, err
		}
	}
}
