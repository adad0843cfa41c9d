package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// lines passes on only the lines of a server's stdout that can be messages. Many servers print
// greetings or warnings to stdout, and one such line would end the connection.
type lines struct {
	src  io.ReadCloser
	r    *bufio.Reader
	rest []byte
}

func newLines(src io.ReadCloser) *lines {
	return &lines{src: src, r: bufio.NewReaderSize(src, 64<<10)}
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if err != nil {
			return 0, err
		}
		if t := bytes.TrimSpace(line); len(t) > 0 && (t[0] == '{' || t[0] == '[') && json.Valid(t) {
			l.rest = append(t, '\n')
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next reads a line. It returns an error if the line exceeds the limits of a message.
func (l *lines) next() ([]byte, error) {
	var line []byte
	var m meter
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		tooMuch := m.add(part)
		switch {
		case tooMuch != nil:
			return nil, tooMuch
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		default:
			return line, nil
		}
	}
}

func (l *lines) Close() error { return l.src.Close() }
