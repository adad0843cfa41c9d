package langserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// Limits for the messages from a server, and for the queue of messages to it.
const (
	maxMessage  = 64 << 20
	outbox      = 1024
	floodCount  = 50_000 // more messages than this within floodWindow end the connection
	floodWindow = 10 * time.Second
)

// Error codes of LSP after which the same request may soon succeed.
const (
	codeServerCancelled jsonrpc2.Code = -32802
	codeContentModified jsonrpc2.Code = -32801
)

func askAgain(e *jsonrpc2.Error) bool {
	return e.Code == codeContentModified || e.Code == codeServerCancelled
}

// conn is the client's end of a connection to a server. Its methods are safe for concurrent use. A
// send never blocks the caller. If the server does not read, the outbox fills up and then each send
// fails.
type conn struct {
	rpc    jsonrpc2.Conn
	frames *stream
	// handle processes requests and notifications of the server, in order, on the reader's
	// goroutine.
	handle jsonrpc2.Handler
}

// codec encodes outgoing messages. Results stay raw JSON, because each caller decodes its own.
var codec = jsonrpc.Codec{Encode: json.Marshal, Decode: json.Unmarshal}

// newConn returns a connection that run serves. More than flood messages within floodWindow end the
// connection. Messages sent before run wait in the outbox.
func newConn(handle jsonrpc2.Handler, flood int) *conn {
	frames := &stream{flood: flood, out: make(chan []byte, outbox), done: make(chan struct{})}
	return &conn{rpc: jsonrpc2.NewConn(frames, jsonrpc2.WithCodec(codec)), frames: frames,
		handle: handle}
}

// run serves the connection until reading from the server fails, and returns the reason. It closes
// w but not r. To end the connection earlier, the caller must stop the process.
func (c *conn) run(r io.Reader, w io.WriteCloser) error {
	c.frames.in = bufio.NewReaderSize(r, 64<<10)
	var writer sync.WaitGroup
	writer.Go(func() { c.frames.writeTo(w) })
	c.rpc.Go(context.Background(), c.handle)
	<-c.rpc.Done()
	c.frames.end(c.rpc.Err()) // has no effect if the reader has ended the connection
	_ = w.Close()
	writer.Wait()
	return c.frames.reason()
}

func (c *conn) notify(method string, params any) error {
	ctx, stop := sendContext(context.Background())
	defer stop()
	return c.ended(c.rpc.Notify(ctx, method, params))
}

// call sends a request and waits for its response. If ctx ends first, call cancels the request. An
// error from the server is a *jsonrpc2.Error.
func (c *conn) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	sendCtx, stop := sendContext(ctx)
	defer stop()
	result := json.RawMessage("null") // jsonrpc2 does not change this value if the result is null
	id, err := c.rpc.Call(sendCtx, method, params, &result)
	if ctx.Err() != nil && err != nil {
		number, _ := id.Number() // jsonrpc2 numbers its calls
		_ = c.notify(protocol.MethodCancelRequest, map[string]int64{"id": number})
		return nil, context.Cause(ctx)
	}
	return result, c.ended(err)
}

// ended returns the reason why the connection has ended if err is a consequence of that. It returns
// any other err unchanged, such as an error response of the server.
func (c *conn) ended(err error) error {
	var answer *jsonrpc2.Error
	if err == nil || errors.As(err, &answer) && !errors.Is(err, jsonrpc2.ErrClientClosing) {
		return err
	}
	if reason := c.frames.reason(); reason != nil {
		return reason
	}
	return err
}

type cancelKey struct{}

// sendContext returns the context of one send. The outbox cancels this context when it refuses the
// send. jsonrpc2 treats any other write error as the end of the connection, but a server that hangs
// may read again later.
func sendContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	return context.WithValue(ctx, cancelKey{}, cancel), cancel
}

// stream reads and writes the frames of one server. Only one goroutine reads.
type stream struct {
	in    *bufio.Reader
	out   chan []byte
	flood int

	began time.Time // start of the window in which count messages arrived; used only by the reader
	count int

	mu   sync.Mutex
	err  error         // why reading ended
	done chan struct{} // closed when err is set
}

// ReadFrame returns the next message. It corrects or skips a message that JSON-RPC does not allow,
// because jsonrpc2 would otherwise close the connection.
func (s *stream) ReadFrame(context.Context) ([]byte, int64, error) {
	for {
		body, err := readFrame(s.in)
		if err == nil {
			err = s.checkFlood()
		}
		if err != nil {
			s.end(err)
			return nil, 0, err
		}
		if body = validMessage(body); body != nil {
			return body, int64(len(body)), nil
		}
	}
}

func (s *stream) checkFlood() error {
	now := time.Now()
	if s.began.IsZero() {
		s.began = now
	}
	if s.count++; s.count <= s.flood {
		return nil
	}
	if now.Sub(s.began) < floodWindow {
		return fmt.Errorf("it sent more than %d messages within %v", s.flood, floodWindow)
	}
	s.began, s.count = now, 0
	return nil
}

// validMessage returns body as a message that jsonrpc2 accepts, or nil if that is impossible. Some
// servers omit "jsonrpc", or send a null result along with an error.
func validMessage(body []byte) []byte {
	if _, err := jsonrpc2.DecodeMessage(body); err == nil {
		return body
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method,omitempty"`
		Params  json.RawMessage `json:"params,omitempty"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *jsonrpc2.Error `json:"error,omitempty"`
	}
	if json.Unmarshal(body, &m) != nil {
		return nil
	}
	if m.Version = "2.0"; m.Error != nil {
		m.Result = nil
	}
	fixed, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	if _, err := jsonrpc2.DecodeMessage(fixed); err != nil {
		return nil
	}
	return fixed
}

// WriteFrame queues a message. If the outbox is full, WriteFrame refuses a send that has a
// sendContext. It drops a response, because the server that sent the request is not reading.
func (s *stream) WriteFrame(ctx context.Context, body []byte) (int64, error) {
	frame := append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
	select {
	case s.out <- frame:
		return int64(len(body)), nil
	default:
	}
	cancel, _ := ctx.Value(cancelKey{}).(context.CancelFunc)
	if cancel == nil {
		return int64(len(body)), nil
	}
	cancel()
	return 0, fmt.Errorf("it hangs: %d messages are waiting and it reads none", outbox)
}

// Read implements [jsonrpc2.Stream].
func (s *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	body, n, err := s.ReadFrame(ctx)
	if err != nil {
		return nil, 0, err
	}
	m, err := jsonrpc2.DecodeMessage(body)
	return m, n, err
}

// Write implements [jsonrpc2.Stream].
func (s *stream) Write(ctx context.Context, m jsonrpc2.Message) (int64, error) {
	body, err := jsonrpc2.EncodeMessage(m)
	if err != nil {
		return 0, err
	}
	return s.WriteFrame(ctx, body)
}

// Close implements [jsonrpc2.Stream]. It does nothing, because run and its caller close both pipes.
func (s *stream) Close() error { return nil }

// end records the reason why the connection has ended. The first reason is kept.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if s.err = err; err == nil {
		s.err = errors.New("it ended")
	}
	close(s.done)
}

// reason returns the reason why the connection has ended, or nil if it has not ended.
func (s *stream) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *stream) writeTo(w io.Writer) {
	for {
		select {
		case frame := <-s.out:
			if _, err := w.Write(frame); err != nil {
				return
			}
		case <-s.done:
			return
		}
	}
}

// readFrame reads one message. It skips lines that are not headers, because some servers print
// other text.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return nil, errors.New("it ended")
		}
		line = bytes.TrimSpace(line)
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && bytes.EqualFold(name, []byte("content-length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil ||
				length < 0 || length > maxMessage {
				return nil, fmt.Errorf("it sent a message of %q bytes; at most %d are accepted",
					bytes.TrimSpace(value), maxMessage)
			}
		}
		if len(line) == 0 && length >= 0 {
			break
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, errors.New("it ended in the middle of a message")
	}
	return body, nil
}
