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
	"strings"
	"sync"
	"time"
)

// Bounds of what a server may send and of what waits to be sent to it.
const (
	maxMessage  = 64 << 20
	outbox      = 1024
	floodCount  = 50_000 // messages within floodWindow end the connection
	floodWindow = 10 * time.Second
)

// message is any JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// again says whether the same question may soon have an answer.
func (e *rpcError) again() bool {
	return e.Code == codeContentModified || e.Code == codeServerCancelled
}

// Codes of JSON-RPC and LSP that are told apart.
const (
	codeServerCancelled = -32802 // to be asked again
	codeMethodNotFound  = -32601
	codeContentModified = -32801
)

// conn is the client's end of a connection to a server. A server that reads nothing fills the
// outbox and then fails each send; it never blocks a caller.
type conn struct {
	handle func(m *message) // requests and notifications of the server, in order, on the reader's goroutine
	flood  int              // messages within floodWindow that end the connection
	out    chan []byte
	done   chan struct{} // closed when the connection is over

	mu      sync.Mutex
	next    int64
	pending map[string]chan *message
	err     error
}

func newConn(handle func(*message), flood int) *conn {
	return &conn{handle: handle, flood: flood, out: make(chan []byte, outbox), done: make(chan struct{}), pending: map[string]chan *message{}}
}

// run serves until the server's output ends, and returns why it did. It returns only after
// both ends are closed: the caller ends the process to end it.
func (c *conn) run(r io.Reader, w io.WriteCloser) error {
	var writer sync.WaitGroup
	writer.Go(func() { c.write(w) })
	err := c.read(bufio.NewReaderSize(r, 64<<10))
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	close(c.done)
	_ = w.Close()
	writer.Wait()
	return err
}

func (c *conn) write(w io.Writer) {
	for {
		select {
		case frame := <-c.out:
			if _, err := w.Write(frame); err != nil {
				return
			}
		case <-c.done:
			return
		}
	}
}

func (c *conn) read(r *bufio.Reader) error {
	began, count := time.Now(), 0
	for {
		body, err := readFrame(r)
		if err != nil {
			return err
		}
		if count++; count > c.flood {
			if time.Since(began) < floodWindow {
				return fmt.Errorf("it flooded: more than %d messages within %v", c.flood, floodWindow)
			}
			began, count = time.Now(), 0
		}
		m := new(message)
		if json.Unmarshal(body, m) != nil {
			continue
		}
		if m.Method != "" {
			c.handle(m)
		} else {
			c.answered(m)
		}
	}
}

// readFrame reads one message; lines that are no header are passed over, for some servers print.
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
		if ok && strings.EqualFold(string(name), "content-length") {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || length < 0 || length > maxMessage {
				return nil, fmt.Errorf("it sent a message of %q bytes; at most %d are taken", bytes.TrimSpace(value), maxMessage)
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

func (c *conn) answered(m *message) {
	c.mu.Lock()
	ch := c.pending[string(m.ID)]
	delete(c.pending, string(m.ID))
	c.mu.Unlock()
	if ch != nil {
		ch <- m
	}
}

func (c *conn) send(m *message) error {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", m.Method, err)
	}
	frame := append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
	select {
	case <-c.done:
		return c.ended()
	case c.out <- frame:
		return nil
	default:
		return fmt.Errorf("it hangs: %d messages wait and it reads none", outbox)
	}
}

func (c *conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *conn) notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", method, err)
	}
	return c.send(&message{Method: method, Params: raw})
}

func (c *conn) reply(id json.RawMessage, result any, e *rpcError) {
	m := &message{ID: id, Error: e}
	if e == nil {
		if m.Result, _ = json.Marshal(result); m.Result == nil {
			m.Result = json.RawMessage("null")
		}
	}
	_ = c.send(m)
}

// call sends a request and waits for its answer; when ctx ends first the request is cancelled.
func (c *conn) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", method, err)
	}
	ch := make(chan *message, 1)
	c.mu.Lock()
	c.next++
	id := strconv.FormatInt(c.next, 10)
	c.pending[id] = ch
	c.mu.Unlock()
	defer func() { c.mu.Lock(); delete(c.pending, id); c.mu.Unlock() }()
	if err := c.send(&message{ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		return nil, err
	}
	select {
	case m := <-ch:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-c.done:
		return nil, c.ended()
	case <-ctx.Done():
		_ = c.notify("$/cancelRequest", map[string]any{"id": json.RawMessage(id)})
		return nil, context.Cause(ctx)
	}
}
