package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Options of a Runner. The zero value works.
type Options struct {
	SpillDir string // where long outputs go; empty: the system's temporary folder
	Helper   string // the binary to re-execute; empty: this one
}

// Runner starts processes and ends them. It is safe for concurrent use.
type Runner struct {
	helper   string
	spillDir string
	linger   time.Duration // see linger
	idleTime time.Duration // see idleTime
	maxIdle  int           // see maxIdle
	wg       sync.WaitGroup

	mu      sync.Mutex // guards what follows
	helpers map[*helper]struct{}
	idle    []*helper // that wait for an order
	making  bool      // one is being started ahead
	closed  bool
}

// ErrClosed is returned for a command that comes after Close.
var ErrClosed = errors.New("starting a command: the daemon is shutting down")

// New makes a Runner. The process must call MaybeHelper first in main.
func New(o Options) (*Runner, error) {
	if o.Helper == "" {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this binary: %w", err)
		}
		o.Helper = exe
	}
	if o.SpillDir == "" {
		o.SpillDir = os.TempDir()
	}
	_ = adopt() // Lacks reports it
	return &Runner{helper: o.Helper, spillDir: o.SpillDir, linger: linger, idleTime: idleTime,
		maxIdle: maxIdle, helpers: map[*helper]struct{}{}}, nil
}

// Lacks says what the system lacks for ending every process of a command, and what that means; ""
// where it lacks nothing.
func Lacks() string {
	if err := adopt(); err != nil {
		return err.Error() + ": a process that a command starts and that leaves the command's process group may outlive the command"
	}
	return ""
}

// Run runs a command to its end, the end of ctx, or its timeout, whichever comes first, and
// has ended all its processes when it returns; after an abort at the latest Grace and
// abandonAfter later, when what resists is ended in the background. The error is about
// starting it only.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{ExitCode: -1, Aborted: true}, nil
	}
	k, outR, feed, err := r.begin(&c)
	if err != nil {
		return Result{}, err
	}
	defer outR.Close()
	r.feed(feed, c.Stdin)
	capt := newCapture(&c, r.spillDir)
	read := make(chan struct{})
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		defer close(read)
		capt.pump(outR, c.Output)
	}()
	res := k.follow(ctx, &c)
	feed.close()
	_ = outR.SetReadDeadline(time.Now().Add(drainTime))
	<-read
	capt.result(&res)
	if res.ExitCode != 0 && !res.Aborted && !res.TimedOut {
		res.SandboxDenied = c.Sandbox.Stopped(string(res.Head) + string(res.Tail))
	}
	return res, k.startError()
}

// begin starts the command, by a supervisor that serves several where it can, and returns the
// daemon's ends of its output and input.
func (r *Runner) begin(c *Command) (*child, *os.File, *stdinPipe, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("making the output pipe: %w", err)
	}
	defer outW.Close()
	widen(outR)
	var k *child
	var feed *stdinPipe
	if shareable(c) {
		k, err = r.share(*c, outW)
	} else {
		k, feed, err = r.alone(c, outW)
	}
	if err != nil {
		outR.Close()
		return nil, nil, nil, err
	}
	return k, outR, feed, nil
}

// alone runs the command by a supervisor of its own.
func (r *Runner) alone(c *Command, out *os.File) (*child, *stdinPipe, error) {
	in, feed, err := stdinFor(c.Stdin)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	k, err := r.start(c, in, out, out)
	if err != nil {
		feed.close()
		return nil, nil, err
	}
	return k, feed, nil
}

// drainTime bounds the wait for the end of the output once the command's processes have ended. Only
// a process that escaped, or one that is being ended in the background, can keep the pipe open. The
// bytes that are in the pipe by then are always read.
const drainTime = 100 * time.Millisecond

// stdinPipe is the daemon's end of a command's stdin; nil if the command has no stdin.
type stdinPipe struct{ w *os.File }

func (s *stdinPipe) close() {
	if s != nil {
		s.w.Close()
	}
}

func stdinFor(r io.Reader) (*os.File, *stdinPipe, error) {
	if r == nil {
		f, err := os.Open(os.DevNull)
		return f, nil, err
	}
	in, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making the input pipe: %w", err)
	}
	return in, &stdinPipe{w}, nil
}

// feed copies the caller's input. The goroutine is not waited for by Run: a reader may block for
// ever; Close does not wait for it either.
func (r *Runner) feed(s *stdinPipe, from io.Reader) {
	if s == nil {
		return
	}
	go func() {
		_, _ = io.Copy(s.w, from)
		s.w.Close()
	}()
}

// Close ends every process, waits for the ends, and refuses new ones. It is idempotent.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	for _, h := range r.idle {
		h.timer.Stop()
	}
	r.idle = nil
	for h := range r.helpers {
		h.control.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}
