package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// askTimeout is the time limit of requests that the client answers without asking the user.
const askTimeout = 10 * time.Second

// Link is the connection to one client. Its methods may be called from any goroutine.
type Link struct {
	Logger *slog.Logger
	Out    *jsonrpc.Outbox // the only writer to the client
	Stream *jsonrpc.Stream
	// Queue orders the requests whose order matters.
	Queue Queue
	// Requests are the client's unanswered requests.
	Requests Requests
	// Client is set by initialize before anything else reads it.
	Client Client
	// Attached reports whether the client receives agent/* notifications.
	Attached atomic.Bool

	codec  jsonrpc.Codec
	conn   jsonrpc2.Conn
	ctx    context.Context // canceled when the connection ends
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // goroutines of the connection
}

// Open returns a connection, which starts to read when Serve is called. The connection does not end
// with ctx.
func Open(
	ctx context.Context,
	in io.Reader,
	out io.Writer,
	codec jsonrpc.Codec,
	log *slog.Logger,
) *Link {
	l := &Link{Logger: log, codec: codec}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	l.Out = jsonrpc.NewOutbox(out)
	l.Stream = jsonrpc.NewStream(in, l.Out)
	l.conn = jsonrpc2.NewConn(l.Stream, jsonrpc2.WithCodec(codec))
	return l
}

// Serve starts reading. handle runs on the reading goroutine.
func (l *Link) Serve(handle jsonrpc2.Handler) { l.conn.Go(l.ctx, handle) }

// Read returns a channel that is closed when reading has ended.
func (l *Link) Read() <-chan struct{} { return l.conn.Done() }

// Context returns a context that ends when the connection does.
func (l *Link) Context() context.Context { return l.ctx }

// End cancels the context of the connection and of its requests.
func (l *Link) End(cause error) { l.cancel(cause) }

// Ended returns a channel that is closed when every goroutine of the connection has ended.
func (l *Link) Ended() <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(ended)
	}()
	return ended
}

// Go runs f in a goroutine. The connection waits for that goroutine, so f must end when Context
// does.
func (l *Link) Go(task string, f func()) {
	l.wg.Add(1)
	go func() {
		defer l.wg.Done()
		defer func() {
			if p := recover(); p != nil {
				l.Logger.Error(
					"a background task panicked",
					"task",
					task,
					"panic",
					p,
					"stack",
					string(debug.Stack()),
				)
			}
		}()
		f()
	}()
}

// Plain reports whether the client has neither announced support for agent/* nor used it.
func (l *Link) Plain() bool { return !l.Client.Claimed && !l.Attached.Load() }

// Call sends a request and decodes the response into result. It returns when the client has
// answered or ctx has ended. If ctx ends first, Call sends $/cancelRequest.
func (l *Link) Call(ctx context.Context, method string, params, result any) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	defer context.AfterFunc(l.ctx, done)()
	err := protocol.Call(ctx, l.conn, method, params, result)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("asking the editor (%s): %w", method, context.Cause(ctx))
	}
	return err
}

// Ask is like Call, for a request that the client answers without asking the user. It has a time
// limit.
func (l *Link) Ask(ctx context.Context, method string, params, result any) error {
	return l.AskWithin(ctx, 0, method, params, result)
}

// AskWithin is like Ask, with a time limit that is longer by the given duration.
func (l *Link) AskWithin(
	ctx context.Context,
	extra time.Duration,
	method string,
	params, result any,
) error {
	ctx, done := context.WithTimeout(ctx, askTimeout+extra)
	defer done()
	return l.Call(ctx, method, params, result)
}

// Notify sends a notification. It never blocks.
func (l *Link) Notify(method string, params any) {
	body, err := l.codec.Marshal(params)
	if err != nil {
		l.Logger.Error("a notification could not be encoded", "method", method, "error", err)
		return
	}
	_ = l.Out.Put(Frame(method, body)) // Put fails only if the connection has ended
}

// Message shows a line of text to the user outside of any session.
func (l *Link) Message(kind int, text string) {
	l.Notify(MethodShowMessage, map[string]any{"type": kind, "message": text})
}

// Log writes a line to the client's log.
func (l *Link) Log(kind int, text string) {
	l.Notify(MethodLogMessage, map[string]any{"type": kind, "message": text})
}

// MessageType returns the message type for a notice's level.
func MessageType(level string) int {
	switch level {
	case "error":
		return MessageError
	case "warning":
		return MessageWarning
	}
	return MessageInfo
}

// MethodMissing reports whether an error means that the client does not know the method.
func MethodMissing(err error) bool {
	var e *jsonrpc2.Error
	return errors.As(err, &e) && e.Code == jsonrpc2.MethodNotFound
}

// Frame returns the text of a notification with encoded params.
func Frame(method string, params []byte) []byte {
	b := make([]byte, 0, len(params)+len(method)+48)
	b = append(b, `{"jsonrpc":"2.0","method":"`...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = append(b, params...)
	return append(b, '}')
}
