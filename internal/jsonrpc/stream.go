package jsonrpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// MaxFrame is the maximum size of a frame's body in bytes. A longer frame is skipped and answered
// with an error.
const MaxFrame = 64 << 20

const (
	maxHeaderLine = 8 << 10 // a line that is longer is not a header
	maxSkip       = 4 << 30 // a larger Content-Length is treated as invalid
	keepBuffer    = 1 << 20 // a larger read buffer is released after its frame
	readerSize    = 32 << 10
)

// lengthField is the field that every header must contain, in any letter case. After an error,
// Stream searches for this field.
var lengthField = []byte("content-length:")

// Stream is a jsonrpc2.Stream that recovers from invalid input. It answers a frame that is not a
// JSON-RPC message with an error, skips the frame and finds the next one. It implements the raw
// frame methods, so that batches work. Only one goroutine may read. Writes go to the outbox and
// never block.
type Stream struct {
	in     *bufio.Reader
	source io.Reader
	out    *Outbox
	body   []byte
	// pending contains the frames of a batch that have not been returned yet.
	pending [][]byte
	lines   bool // whether each line is a message, without headers

	// Filter, if set, receives each body that jsonrpc2 writes. It returns the body to write
	// instead, or nil to write nothing.
	Filter func(body []byte) []byte
	// Sent, if set, is called with each body that jsonrpc2 wrote, after the body was queued.
	Sent func(body []byte)
	// End is called once, with the read error, when nothing more can be read.
	End func(error)

	closed    chan struct{}
	closeOnce sync.Once
}

var _ jsonrpc2.Stream = (*Stream)(nil)

// NewStream returns a stream that reads frames from in and writes to out.
func NewStream(in io.Reader, out *Outbox) *Stream {
	return &Stream{in: bufio.NewReaderSize(in, readerSize), source: in, out: out,
		closed: make(chan struct{})}
}

// ReadFrame returns the next body that is a JSON-RPC message or batch. The body is valid until the
// next call. At the end of the input, ReadFrame calls End and then waits for Close, because
// jsonrpc2 does not send outstanding responses after a read error.
func (s *Stream) ReadFrame(ctx context.Context) ([]byte, int64, error) {
	for {
		if len(s.pending) > 0 {
			body := s.pending[0]
			s.pending = s.pending[1:]
			return body, int64(len(body)), nil
		}
		body, err := s.readBody()
		var bad *frameError
		switch {
		case errors.As(err, &bad):
			s.answer(bad)
		case err != nil:
			if s.End != nil {
				s.End(err)
			}
			<-s.closed
			return nil, 0, io.EOF
		case opensBatch(body):
			if s.pending, bad = splitBatch(body); bad != nil {
				s.answer(bad)
			}
		default:
			if bad := check(body); bad != nil {
				s.answer(bad)
				continue
			}
			return body, int64(len(body)), nil
		}
	}
}

// Read is like ReadFrame, for callers that do not support batches.
func (s *Stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	body, n, err := s.ReadFrame(ctx)
	if err != nil {
		return nil, 0, err
	}
	msg, err := jsonrpc2.DecodeMessage(body)
	return msg, n, err
}

type queuedKey struct{}

// WhenQueued returns a context for a call. f runs when the call's frame is queued, and may be nil.
// If ctx ends before that, the frame is not queued (see Outbox.PutUntil).
func WhenQueued(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, queuedKey{}, f)
}

// WriteFrame queues a copy of body. It never blocks.
func (s *Stream) WriteFrame(ctx context.Context, body []byte) (int64, error) {
	n := int64(len(body))
	if s.Filter != nil {
		if body = s.Filter(body); body == nil {
			return n, nil
		}
	}
	queued, limited := ctx.Value(queuedKey{}).(func())
	if !limited {
		ctx = context.Background() // the response to a canceled request must still be written
	}
	if err := s.out.PutUntil(ctx, bytes.Clone(body)); err != nil {
		return 0, err
	}
	if s.Sent != nil {
		s.Sent(body)
	}
	if queued != nil {
		queued()
	}
	return n, nil
}

// Write queues msg. It never blocks.
func (s *Stream) Write(ctx context.Context, msg jsonrpc2.Message) (int64, error) {
	body, err := jsonrpc2.EncodeMessage(msg)
	if err != nil {
		return 0, err
	}
	return s.WriteFrame(ctx, body)
}

// Close ends reading. It closes the source if possible.
func (s *Stream) Close() error {
	var err error
	s.closeOnce.Do(func() {
		close(s.closed)
		if c, ok := s.source.(io.Closer); ok {
			err = c.Close()
		}
	})
	return err
}

// frameError describes a frame that is answered with an error and skipped.
type frameError struct {
	code    jsonrpc2.Code
	message string
	id      jsonrpc2.ID // ID of the request, if known
	resync  bool        // whether the start of the next frame is unknown
}

func (e *frameError) Error() string { return e.message }

func (s *Stream) answer(e *frameError) {
	body := jsonrpc2.AppendResponse(nil, e.id, nil, jsonrpc2.NewError(e.code, e.message))
	_ = s.out.Put(body)
}

// errNotJSON is the error for text that is not JSON, even if the text starts like a batch.
var errNotJSON = &frameError{code: jsonrpc2.ParseError,
	message: "the frame's body is not valid JSON"}

// check validates a body that is not a batch. It returns an error that describes the problem, or
// nil if the body is a valid message.
func check(body []byte) *frameError {
	_, err := jsonrpc2.DecodeMessage(body)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsonrpc2.ErrInvalidRequest):
		return &frameError{code: jsonrpc2.InvalidRequest,
			message: "the frame is not a JSON-RPC 2.0 message; it needs jsonrpc \"2.0\" and a method, or an id with a result or an error"}
	}
	return errNotJSON
}

// readBody reads one header and its body.
func (s *Stream) readBody() ([]byte, error) {
	if s.lines {
		return s.readMessageLine()
	}
	length, err := s.readHeader()
	var bad *frameError
	if errors.As(err, &bad) && bad.resync {
		// Answer now, because the next frame may take a long time to arrive.
		s.answer(bad)
		length, err = s.resync()
	}
	if err != nil {
		return nil, err
	}
	if length > MaxFrame {
		if err := s.discard(length); err != nil {
			return nil, err
		}
		return nil, &frameError{code: jsonrpc2.InvalidRequest,
			message: fmt.Sprintf("the frame has %d bytes, but the limit is %d; it was skipped", length,
				MaxFrame)}
	}
	return s.fill(int(length))
}

// fill reads length bytes. Above keepBuffer, it allocates memory only as the data arrives, because
// the header may be wrong.
func (s *Stream) fill(length int) ([]byte, error) {
	if cap(s.body) > keepBuffer {
		s.body = nil
	}
	if length <= keepBuffer {
		if cap(s.body) < length {
			s.body = make([]byte, length, max(length, readerSize))
		}
		s.body = s.body[:length]
		_, err := io.ReadFull(s.in, s.body)
		return s.body, err
	}
	var buf bytes.Buffer
	if _, err := io.CopyN(&buf, s.in, int64(length)); err != nil {
		return nil, err
	}
	s.body = buf.Bytes()
	return s.body, nil
}

func (s *Stream) discard(n int64) error {
	_, err := io.CopyN(io.Discard, s.in, n)
	return err
}

// readHeader reads up to the blank line and returns the body's length. It skips blank lines before
// the first field.
func (s *Stream) readHeader() (int64, error) {
	length, fields := int64(-1), 0
	for {
		line, err := s.readLine()
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			if fields == 0 {
				continue
			}
			break
		}
		fields++
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return 0, lost("a header line has no colon")
		}
		if !isLength(name) {
			continue
		}
		if length, err = parseLength(value); err != nil {
			return 0, err
		}
		if len(bytes.TrimSpace(name)) > len(lengthField)-1 {
			// The header is preceded by the rest of a frame with a wrong length.
			s.answer(&frameError{code: jsonrpc2.ParseError,
				message: "malformed frame: bytes between frames were skipped"})
		}
	}
	if length < 0 {
		return 0, lost("the header has no Content-Length")
	}
	return length, nil
}

// readLine returns a header line without its line ending. It returns a *frameError if the line is
// too long for a header.
func (s *Stream) readLine() ([]byte, error) {
	line, err := s.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) || len(line) > maxHeaderLine {
		return nil, lost("a header line is too long")
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// isLength reports whether a header field is Content-Length, or ends in it because the rest of the
// previous frame precedes it.
func isLength(name []byte) bool {
	name = bytes.TrimSpace(name)
	want := lengthField[:len(lengthField)-1]
	return len(name) >= len(want) && bytes.EqualFold(name[len(name)-len(want):], want)
}

func parseLength(value []byte) (int64, error) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	if err != nil || n < 0 || n > maxSkip {
		return 0, lost("Content-Length is not a usable number")
	}
	return n, nil
}

func lost(what string) *frameError {
	return &frameError{code: jsonrpc2.ParseError, message: "malformed frame: " + what +
		"; skipped to the next Content-Length", resync: true}
}

// resync searches for the next header and returns its length. The client gets one error response
// for everything that resync skips.
func (s *Stream) resync() (int64, error) {
	for {
		if err := s.seek(lengthField); err != nil {
			return 0, err
		}
		value, err := s.readLine()
		if err != nil {
			var bad *frameError
			if errors.As(err, &bad) {
				continue
			}
			return 0, err
		}
		length, err := parseLength(value)
		if err != nil {
			continue
		}
		if err := s.skipFields(); err != nil {
			var bad *frameError
			if errors.As(err, &bad) {
				continue
			}
			return 0, err
		}
		return length, nil
	}
}

// seek reads past the next occurrence of field. field must be in lower case. Its first letter must
// not occur in it again.
func (s *Stream) seek(field []byte) error {
	matched := 0
	for matched < len(field) {
		c, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		switch c {
		case field[matched]:
			matched++
		case field[0]:
			matched = 1
		default:
			matched = 0
		}
	}
	return nil
}

// skipFields reads the rest of a header after its Content-Length.
func (s *Stream) skipFields() error {
	for {
		line, err := s.readLine()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		if bytes.IndexByte(line, ':') < 0 {
			return lost("a header line has no colon")
		}
	}
}
