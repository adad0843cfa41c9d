package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/editor"
)

const (
	// answerGrace limits how long shutdown waits for the requests that were already read: first
	// until they are accepted, and later until they are answered.
	answerGrace = 2 * time.Second
	// closeGrace limits how long closing the sessions and the core may take together. An abort
	// completes within 2 s.
	closeGrace = 3 * time.Second
	// flushGrace limits each of the last waits of shutdown, such as those for queued messages to be
	// written and for the reader. The client may have stopped reading.
	flushGrace = time.Second
)

// ErrNoShutdown is returned by Serve if exit arrived without a preceding shutdown. The process then
// exits with status 1.
var ErrNoShutdown = errors.New("received exit without shutdown")

// phase is a phase of a connection's lifecycle.
type phase = int32

const (
	fresh   phase = iota // before initialize
	running              // the phase between initialize and shutdown
	ending               // after shutdown
)

// server is one connection.
type server struct {
	opts Options
	log  *slog.Logger

	link     *conn.Link
	life     lifecycle
	notifier *notifier
	api      *agentapi.API
	peer     *editor.Peer
	editor   *editor.Features
	nudger   atomic.Pointer[conn.Nudger] // nil if the client does not need one
	core     *agentapi.Core              // nil until initialize sets it, before any other use
	// detach contains the functions that remove the connection from the host. It is set together
	// with core.
	detach []func()
}

// lifecycle tracks a connection between its start and its end.
type lifecycle struct {
	phase    atomic.Int32
	exited   atomic.Bool   // whether exit was received
	quit     chan struct{} // closed when the connection must end
	quitOnce sync.Once
}

// stop requests the end of the connection.
func (l *lifecycle) stop() { l.quitOnce.Do(func() { close(l.quit) }) }

// Serve serves one client until ctx or the input ends, the client sends exit or stops reading, or
// the process named in initialize ends. For the last connection, Serve then aborts running work. It
// waits for a limited time and returns. The error is ErrNoShutdown or nil.
func Serve(ctx context.Context, opts Options) error { return newServer(ctx, opts).serve(ctx) }

func (s *server) serve(ctx context.Context) error {
	s.link.Stream.End = func(err error) {
		if !errors.Is(err, io.EOF) {
			s.log.Info("reading from the client ended", "error", err)
		}
		s.life.stop()
	}
	s.link.Stream.Sent = s.sent
	s.link.Serve(s.handle)
	select {
	case <-s.life.quit:
	case <-s.link.Out.Lost():
		s.log.Info("the client has stopped reading", "error", s.link.Out.Err())
	case <-ctx.Done():
	}
	s.shutdown()
	if s.life.exited.Load() && s.life.phase.Load() != ending {
		return ErrNoShutdown
	}
	return nil
}

func newServer(ctx context.Context, opts Options) *server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{opts: opts, log: opts.Log}
	s.life.quit = make(chan struct{})
	s.link = conn.Open(ctx, opts.In, opts.Out, agentapi.Codec, s.log)
	s.notifier = &notifier{out: s.link.Out}
	// The API repeats questions through the peer, and the peer needs the API to find the current
	// session.
	s.api = agentapi.New(agentapi.Options{
		Version: opts.Version, Subscriber: s.notifier,
		AskAgain: func(sessionID string) { s.peer.AskAgain(sessionID) },
	})
	s.peer = editor.NewPeer(s.link, s.api)
	s.editor = editor.New(s.link, s.api, s.peer, s.abort)
	return s
}

// sent is called when a message to the client has been queued. If the message is a response, sent
// informs the nudger.
func (s *server) sent(body []byte) {
	if s.link.Requests.Sent(body) {
		if n := s.nudger.Load(); n != nil {
			n.Answered()
		}
	}
}

// shutdown stops all components in the order of their dependencies. Every step that waits for the
// client has a time limit, because the client may hang.
func (s *server) shutdown() {
	s.finishQueued()
	closing, done := context.WithTimeout(context.Background(), closeGrace)
	defer done()
	h := s.api.Host()
	isLast := h != nil && h.Clients().Leave()
	if isLast {
		if err := h.Close(closing); err != nil {
			s.log.Warn("closing sessions", "error", err)
		}
	}
	s.await(s.link.Requests.Wait(), answerGrace)
	s.link.End(agentapi.ErrGone)
	s.await(s.link.Requests.Wait(), flushGrace)
	s.unsubscribe()
	for _, detach := range s.detach {
		detach()
	}
	if isLast {
		s.closeCore(closing)
	}
	s.link.Out.Close()
	s.await(s.link.Out.Done(), flushGrace)
	if err := s.closeStreams(); err != nil {
		s.log.Debug("closing the streams", "error", err)
	}
	s.await(s.link.Ended(), flushGrace)
}

// closeCore closes the core after the last connection has closed.
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

// finishQueued waits, for at most answerGrace, until the requests that were already read have been
// accepted. shutdown calls it before it aborts anything.
func (s *server) finishQueued() {
	entered := make(chan struct{})
	place := s.link.Queue.After()
	go func() {
		place.Enter()
		close(entered)
	}()
	s.await(entered, answerGrace)
}

func (s *server) closeStreams() error {
	err := s.link.Stream.Close()
	if c, ok := s.opts.Out.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	s.await(s.link.Out.Done(), flushGrace)
	// The reader may be blocked in a Read that cannot be interrupted. The process then ends without
	// the reader.
	s.await(s.link.Read(), flushGrace)
	return err
}

// await waits until done is closed, for at most atMost.
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
		s.log.Warn("a component did not stop in time", "after", atMost)
	}
}
