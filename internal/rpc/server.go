package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

const (
	// answerGrace bounds how long requests read before the end of input may take to be answered.
	answerGrace = 2 * time.Second
	// closeGrace bounds the closing of sessions: an abort completes within 2 s.
	closeGrace = 3 * time.Second
	// flushGrace bounds the writing of what is queued to a client that may not read any more.
	flushGrace = time.Second
)

// ErrNoShutdown is what Serve returns where exit came without shutdown before it: the
// process ends with 1.
var ErrNoShutdown = errors.New("received exit without shutdown")

// phase is where the lifecycle stands.
type phase = int32

const (
	fresh   phase = iota // before initialize
	running              // between initialize and shutdown
	ending               // after shutdown
)

// server is one connection.
type server struct {
	opts Options
	log  *slog.Logger

	ctx    context.Context // ends when the connection does
	cancel context.CancelCauseFunc

	out      *jsonrpc.Outbox
	stream   *jsonrpc.Stream
	conn     jsonrpc2.Conn
	inbounds inbounds
	lane     lane
	phase    atomic.Int32
	wg       sync.WaitGroup // goroutines of the connection

	quit     chan struct{} // closed when the connection is to end
	quitOnce sync.Once
	exited   atomic.Bool // by exit

	notifier *notifier
	api      *agentapi.API
	peer     *Peer
	progress *progress
	hints    *hints
	views    *views
	place    place
	saved    saved
	nudger   atomic.Pointer[nudger] // nil: the client needs none
	client   client                 // set by initialize, before anything reads it
	core     *agentapi.Core         // likewise; nil before
	detach   []func()               // likewise: end what the host does for the connection
}

// Serve speaks with one client until it leaves: at the end of input, at exit, or when the
// process named by initialize dies. Then it aborts what runs, waits for it within bounds,
// and returns. The error is nil after an orderly end.
func Serve(ctx context.Context, opts Options) error { return newServer(ctx, opts).serve(ctx) }

func (s *server) serve(ctx context.Context) error {
	s.stream.End = func(err error) {
		if !errors.Is(err, io.EOF) {
			s.log.Info("reading from the client ended", "error", err)
		}
		s.stop()
	}
	s.stream.Sent = s.sent
	s.conn.Go(s.ctx, s.handle)
	select {
	case <-s.quit:
	case <-s.out.Lost():
		s.log.Info("the client has stopped reading", "error", s.out.Err())
	case <-ctx.Done():
	}
	s.shutdown()
	if s.exited.Load() && s.phase.Load() != ending {
		return ErrNoShutdown
	}
	return nil
}

func newServer(ctx context.Context, opts Options) *server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{opts: opts, log: opts.Log, quit: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.out = jsonrpc.NewOutbox(opts.Out)
	s.stream = jsonrpc.NewStream(opts.In, s.out)
	s.conn = jsonrpc2.NewConn(s.stream, jsonrpc2.WithCodec(codec))
	s.notifier = &notifier{out: s.out}
	s.peer = newPeer(s)
	s.api = agentapi.New(agentapi.Options{
		Version: opts.Version, Subscriber: s.notifier, AskAgain: s.peer.askAgain,
	})
	s.hints = &hints{s: s, shown: map[string]bool{}, dirty: map[string]bool{}}
	s.views = &views{s: s, shown: map[string]bool{}, dirty: map[string]bool{}}
	s.saved.told = map[string]map[string]bool{}
	s.progress = &progress{s: s, turns: map[string]*turnProgress{}}
	return s
}

// stop asks for the end of the connection.
func (s *server) stop() { s.quitOnce.Do(func() { close(s.quit) }) }

// shutdown ends everything in the order in which it depends on each other. No step waits
// without bound, because the client may hang.
func (s *server) shutdown() {
	s.finishQueued()
	closing, done := context.WithTimeout(context.Background(), closeGrace)
	defer done()
	h := s.api.Host()
	isLast := h != nil && h.Leave()
	if isLast {
		if err := h.Close(closing); err != nil {
			s.log.Warn("closing sessions", "error", err)
		}
	}
	s.await(s.inbounds.wait(), answerGrace)
	s.cancel(agentapi.ErrGone)
	s.await(s.inbounds.wait(), flushGrace)
	s.unsubscribe()
	for _, detach := range s.detach {
		detach()
	}
	if isLast {
		s.closeCore(closing)
	}
	s.out.Close()
	s.await(s.out.Done(), flushGrace)
	if err := s.closeStreams(); err != nil {
		s.log.Debug("closing the streams", "error", err)
	}
	ended := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(ended)
	}()
	s.await(ended, flushGrace)
}

// closeCore closes what the last connection leaves behind.
func (s *server) closeCore(ctx context.Context) {
	if err := s.core.Host.CloseStores(); err != nil {
		s.log.Warn("closing the stored sessions", "error", err)
	}
	if s.core.Close == nil {
		return
	}
	if err := s.core.Close(ctx); err != nil {
		s.log.Warn("closing", "error", err)
	}
}

// finishQueued lets the requests that were read be accepted before everything is aborted.
func (s *server) finishQueued() {
	entered := make(chan struct{})
	place := s.lane.after()
	go func() {
		place.enter()
		close(entered)
	}()
	s.await(entered, answerGrace)
}

func (s *server) closeStreams() error {
	err := s.stream.Close()
	if c, ok := s.opts.Out.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	s.await(s.out.Done(), flushGrace)
	// The reader may sit in a Read that nothing can end; the process ends without it then.
	s.await(s.conn.Done(), flushGrace)
	return err
}

// await waits for done, but not for ever.
func (s *server) await(done <-chan struct{}, atMost time.Duration) {
	select {
	case <-done:
		return
	default:
	}
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		s.log.Warn("something did not end in time", "after", atMost)
	}
}

// goRun runs f in a goroutine that the connection waits for; f must heed s.ctx.
func (s *server) goRun(what string, f func()) {
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		var err error
		defer func() {
			if err != nil {
				s.log.Error("a background task failed", "task", what, "error", err)
			}
		}()
		defer s.recovered(what, &err)
		f()
	}()
}
