package langserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"
)

// odd is a connection to a server that the test simulates.
type odd struct {
	t     *testing.T
	c     *conn
	in    *bufio.Reader // messages from the client
	out   *io.PipeWriter
	ended chan error
}

func newOdd(t *testing.T, handle jsonrpc2.Handler) *odd {
	answers, answer := io.Pipe()
	questions, ask := io.Pipe()
	o := &odd{t: t, c: newConn(handle, floodCount), in: bufio.NewReader(questions), out: answer,
		ended: make(chan error, 1)}
	go func() { o.ended <- o.c.run(answers, ask) }()
	t.Cleanup(func() {
		_ = answer.Close()
		_ = questions.Close()
		<-o.ended
	})
	return o
}

// next returns the next message from the client.
func (o *odd) next() (m struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *jsonrpc2.Error
}) {
	o.t.Helper()
	body, err := readFrame(o.in)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		o.t.Error(err)
	}
	return m
}

func (o *odd) send(body string) {
	fmt.Fprintf(o.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

// TestOddAnswers simulates servers that violate JSON-RPC. The connection must survive each
// violation.
func TestOddAnswers(t *testing.T) {
	for _, c := range []struct{ name, answer, want, err string }{
		{"as it should be", `{"jsonrpc":"2.0","id":ID,"result":{"a":1}}`, `{"a":1}`, ""},
		{"null", `{"jsonrpc":"2.0","id":ID,"result":null}`, `null`, ""},
		{"no version", `{"id":ID,"result":[1]}`, `[1]`, ""},
		{"a null result along with an error",
			`{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-32801,"message":"changed"}}`,
			"", "changed"},
		{"an error", `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"no"}}`, "", "no"},
		{"text that is not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\"\xff\"}",
			"\"\xff\"", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOdd(t, nil)
			go func() {
				id := string(o.next().ID)
				o.send(`nonsense`)
				o.send(`[]`)
				o.send(`{"jsonrpc":"2.0","id":999,"result":"nobody asked"}`)
				fmt.Fprint(o.out, "Starting the server ...\n")
				o.send(strings.ReplaceAll(c.answer, "ID", id))
			}()
			got, err := o.c.call(t.Context(), "textDocument/hover", nil)
			if c.err != "" {
				var answer *jsonrpc2.Error
				if !errors.As(err, &answer) || answer.Message != c.err {
					t.Errorf("the error is %v, want %s", err, c.err)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Errorf("the result is %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestCallIsCancelledByItsID(t *testing.T) {
	o := newOdd(t, nil)
	cause := errors.New("the user aborted")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() { _, err := o.c.call(ctx, "slow", map[string]int{"a": 1}); done <- err }()
	asked := o.next()
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
	if m := o.next(); m.Method != "$/cancelRequest" || string(m.Params) != `{"id":`+
		string(asked.ID)+`}` {
		t.Errorf("%s %s was sent for the request %s", m.Method, m.Params, asked.ID)
	}
}

func TestServerRequestsAreAnsweredInOrder(t *testing.T) {
	o := newOdd(t, (&server{}).handle)
	o.send(`{"jsonrpc":"2.0","id":"r","method":"client/registerCapability","params":{}}`)
	o.send(`{"jsonrpc":"2.0","method":"unknown/notification"}`)
	o.send(`{"jsonrpc":"2.0","id":7,"method":"workspace/codeLens/refresh"}`)
	o.send(`{"jsonrpc":"2.0","id":8,"method":"unknown/request"}`)
	if m := o.next(); string(m.ID) != `"r"` || string(m.Result) != "null" {
		t.Errorf("registerCapability: %s %s", m.ID, m.Result)
	}
	if m := o.next(); string(m.ID) != "7" || m.Error != nil {
		t.Errorf("refresh: %s %v", m.ID, m.Error)
	}
	if m := o.next(); string(m.ID) != "8" || m.Error == nil ||
		m.Error.Code != jsonrpc2.MethodNotFound {
		t.Errorf("an unknown request: %s %v", m.ID, m.Error)
	}
}

func TestEndIsTheErrorOfEachCall(t *testing.T) {
	o := newOdd(t, nil)
	go func() {
		o.next()
		fmt.Fprint(o.out, "Content-Length: 10\r\n\r\n{")
		_ = o.out.Close()
	}()
	for range 2 {
		if _, err := o.c.call(t.Context(), "x", nil); err == nil ||
			err.Error() != "it ended in the middle of a message" {
			t.Errorf("the error is %v", err)
		}
	}
	if err := o.c.notify("y", nil); err == nil ||
		err.Error() != "it ended in the middle of a message" {
		t.Errorf("the error of a notification is %v", err)
	}
}
