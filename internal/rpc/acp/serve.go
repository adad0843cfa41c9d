package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

const (
	// closeGrace limits how long closing a core's sessions may take. An abort completes within 2 s.
	closeGrace = 3 * time.Second
	// answerGrace bounds how long answering the open requests may take at the end.
	answerGrace = 2 * time.Second
	// coresGrace bounds how long ending the cores may take. The cores also have shorter limits of
	// their own.
	coresGrace = 8 * time.Second
	// flushGrace bounds how long writing queued messages may take, because the client may no longer
	// read.
	flushGrace = time.Second
	// deltaEnd is the end of a chunk's frame, after the text (see deltaPrefix).
	deltaEnd = `"}}}}`
)

// Options configure a connection. Every field except Log and Ahead is required.
type Options struct {
	// In is read to its end. At the end, Serve closes In if it is an io.Closer.
	In io.Reader
	// Out receives one JSON object per line and no other output. Only one goroutine writes to it.
	Out     io.Writer
	Log     *slog.Logger // nil means that nothing is logged
	Version string
	// Ahead is the folder whose core starts as soon as the client is known, because the first
	// session will most likely use that folder. "" means that no core starts. Until a session is
	// requested, starting the core must have no visible effect.
	Ahead string
	// Start builds the core for the sessions of one set of folders and MCP servers. Commands may
	// run in the client's terminals.
	Start func(init agentapi.Init, terminal Terminal) (*agentapi.Core, error)
}

// adapter is one connection of an ACP client.
type adapter struct {
	opts   Options
	log    *slog.Logger
	ctx    context.Context // canceled when the connection ends
	cancel context.CancelFunc
	out    *jsonrpc.Outbox
	stream *jsonrpc.Stream
	conn   jsonrpc2.Conn
	wg     sync.WaitGroup // counts background work
	ready  atomic.Bool    // whether initialize was answered
	client acp.ClientCapabilities

	requests requests

	mu       sync.RWMutex // a read-write lock, because every delta looks up its session
	cores    map[string]*core
	sessions map[string]*session
	ahead    *core // the core that was started for Options.Ahead and has not been requested yet
	ended    bool  // whether no new core may start
}

// Serve serves one client until its input ends. It then aborts all running work, answers open
// requests, and stops the cores and all their child processes.
func Serve(ctx context.Context, opts Options) error {
	a := newAdapter(ctx, opts)
	quit := make(chan struct{})
	a.stream.End = func(err error) {
		if !errors.Is(err, io.EOF) {
			a.log.Info("reading from the client ended", "error", err)
		}
		close(quit)
	}
	a.stream.Filter, a.stream.Sent = unanswered, a.requests.sent
	a.conn.Go(a.ctx, a.handle)
	select {
	case <-quit:
	case <-a.out.Lost():
		a.log.Info("the client has stopped reading", "error", a.out.Err())
	case <-ctx.Done():
	}
	a.shutdown()
	return nil
}

func newAdapter(ctx context.Context, opts Options) *adapter {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	a := &adapter{opts: opts, log: opts.Log, cores: map[string]*core{},
		sessions: map[string]*session{}}
	a.ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.out = jsonrpc.NewLineOutbox(opts.Out, deltaEnd)
	a.stream = jsonrpc.NewLineStream(opts.In, a.out)
	a.conn = jsonrpc2.NewConn(a.stream, jsonrpc2.WithCodec(codec))
	return a
}

// shutdown stops the cores first. This aborts their turns, so that the client still receives the
// responses that it is waiting for. Every wait has a limit.
func (a *adapter) shutdown() {
	a.mu.Lock()
	a.ended = true
	cores := make([]*core, 0, len(a.cores))
	for _, c := range a.cores {
		cores = append(cores, c)
	}
	a.mu.Unlock()
	bound := time.NewTimer(coresGrace)
	defer bound.Stop()
	for _, c := range cores {
		c.stop()
	}
	for _, c := range cores {
		select {
		case <-c.done:
		case <-bound.C:
			a.log.Warn("a session did not end in time")
			bound.Reset(0)
		}
	}
	await(&a.requests.open, flushGrace)
	a.cancel()
	await(&a.requests.open, flushGrace)
	await(&a.wg, flushGrace)
	a.out.Close()
	waitFor(a.out.Done(), flushGrace)
	_ = a.stream.Close()
	if c, ok := a.opts.Out.(io.Closer); ok {
		_ = c.Close()
	}
}

// await waits for a group for a limited time.
func await(wg *sync.WaitGroup, atMost time.Duration) {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	waitFor(done, atMost)
}

func waitFor(done <-chan struct{}, atMost time.Duration) {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// background runs f concurrently. ctx ends with the connection, and f must end when ctx does.
func (a *adapter) background(f func(ctx context.Context)) {
	a.wg.Add(1)
	go func() {
		defer a.wg.Done()
		f(a.ctx)
	}()
}

// handle is the connection's handler. For a notification it returns no error, because an error
// would end the connection.
func (a *adapter) handle(ctx context.Context, req *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("a handler panicked", "method", req.Method(), "panic", p, "stack",
				string(debug.Stack()))
			err = fail(codeInternal, "internal error; see the log")
		}
	}()
	if !req.IsCall() {
		a.notified(req.Method(), req.Params())
		return nil, nil
	}
	m, ok := methods[req.Method()]
	switch {
	case !ok:
		return nil, fail(codeMethodNotFound, "unknown method %q", req.Method())
	case !a.ready.Load() && req.Method() != acp.AgentMethodInitialize:
		return nil, fail(codeInvalidRequest, "received %s before initialize; send initialize first",
			req.Method())
	}
	reqCtx, done := a.requests.begin(a.ctx, req.ID())
	defer done()
	result, err = m(a, reqCtx, req.Params(), func() { jsonrpc2.Async(ctx) })
	if err != nil {
		return nil, clientError(reqCtx, err)
	}
	return result, nil
}

// afterAnswer runs f in the background once the request of ctx has been answered. Before that, the
// client does not know the session.
func (a *adapter) afterAnswer(ctx context.Context, f func(ctx context.Context)) {
	r := inboundFrom(ctx)
	if r == nil {
		return
	}
	a.background(func(ctx context.Context) {
		select {
		case <-r.answered:
			f(ctx)
		case <-ctx.Done():
		}
	})
}

// notified handles session/cancel and $/cancel_request. It ignores other notifications.
func (a *adapter) notified(method string, params []byte) {
	switch method {
	case acp.AgentMethodSessionCancel:
		var p acp.CancelNotification
		if json.Unmarshal(params, &p) == nil {
			a.cancelSession(string(p.SessionId))
		}
	case methodCancelRequest:
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(params, &p) == nil {
			a.requests.cancel(jsonrpc.IDFrom(p.RequestID))
		}
	}
}

// call sends a request to the client. If ctx ends first, call notifies the client that no response
// is needed.
func (a *adapter) call(ctx context.Context, method string, params, result any) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	defer context.AfterFunc(a.ctx, done)()
	id, err := a.conn.Call(ctx, method, params, result)
	if err != nil && ctx.Err() != nil {
		if a.ctx.Err() == nil {
			_ = a.conn.Notify(a.ctx, methodCancelRequest, map[string]any{"requestId": rawID(id)})
		}
		return fmt.Errorf("asking the client (%s): %w", method, context.Cause(ctx))
	}
	return err
}

func rawID(id jsonrpc2.ID) any {
	if n, ok := id.Number(); ok {
		return n
	}
	return fmt.Sprint(id)
}

// update sends the client an update of a session.
func (a *adapter) update(sessionID string, update any) {
	a.out.PutEvent(sessionID, updateFrame(sessionID, update))
}

func updateFrame(sessionID string, update any) []byte {
	body := encode(update)
	b := make([]byte, 0, len(body)+len(sessionID)+96)
	b = append(b, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"`...)
	b = jsonrpc.AppendEscaped(b, sessionID)
	b = append(append(b, `","update":`...), body...)
	return append(b, `}}`...)
}

// launchDir returns the folder whose sessions are listed if the client does not name a folder.
func launchDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return string(filepath.Separator)
	}
	return dir
}
