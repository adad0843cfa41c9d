package rpctest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Message is one JSON-RPC message as it was received or sent.
type Message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *RPCError       `json:"error,omitempty"`
}

// RPCError is the error object of a response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// isAnswer reports whether m is a response to one of the editor's requests.
func (m *Message) isAnswer() bool { return m.Method == "" }

// isRequest reports whether the server expects a response to m.
func (m *Message) isRequest() bool {
	return m.Method != "" && len(m.ID) > 0 &&
		string(m.ID) != "null"
}

func (m *Message) String() string {
	b, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// conn writes Content-Length frames, one at a time.
type conn struct {
	w  io.Writer
	mu sync.Mutex
}

func (c *conn) writeRaw(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.w.Write(b)
	return err
}

func (c *conn) write(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.writeRaw(append([]byte("Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"),
		body...))
}

// readFrame reads one frame and returns its body.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := -1
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("header line without colon: %q (does something else write to stdout?)", line)
		}
		if strings.EqualFold(strings.TrimSpace(name), "content-length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return nil, fmt.Errorf("reading Content-Length: %w", err)
			}
		}
	}
	if length < 0 {
		return nil, fmt.Errorf("frame without Content-Length")
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}
