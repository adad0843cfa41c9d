package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/environ"
)

// Options configure a Runner. The zero value is valid.
type Options struct {
	SpillDir string // folder for long outputs; empty: the system's temporary folder
	Helper   string // the binary to re-execute; empty: this one
	// Redact returns a writer that removes secrets from a long output and writes the rest to its
	// file. Closing the writer closes the file. If Redact is nil, nothing is removed.
	Redact func(file io.WriteCloser) io.WriteCloser
}

// Runner starts processes and ends them. It is safe for concurrent use.
type Runner struct {
	helper   string
	spillDir string
	redact   func(file io.WriteCloser) io.WriteCloser
	linger   time.Duration // see linger
	idleTime time.Duration // see idleTime
	maxIdle  int           // see maxIdle
	wg       sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	helpers map[*helper]struct{}
	idle    []*helper // helpers that wait for an order
	making  bool      // a helper is being started in advance
	closed  bool
}

// ErrClosed is returned for a command that arrives after Close.
var ErrClosed = errors.New("starting a command: the daemon is shutting down")

// New creates a Runner. The process must call MaybeHelper first in main.
func New(o Options) (*Runner, error) {
	if o.Helper == "" {
		exe, err := environ.Self()
		if err != nil {
			return nil, fmt.Errorf("finding this binary: %w", err)
		}
		o.Helper = exe
	}
	if o.SpillDir == "" {
		o.SpillDir = os.TempDir()
	}
	_ = adopt() // Lacks reports it
	return &Runner{helper: o.Helper, spillDir: o.SpillDir, redact: o.Redact, linger: linger,
		idleTime: idleTime, maxIdle: maxIdle, helpers: map[*helper]struct{}{}}, nil
}

// Lacks describes which features for ending every process of a command are missing on this system,
// and the consequence. It returns "" if none is missing.
func Lacks() string {
	if err := adopt(); err != nil {
		return err.Error() + ": a process that a command starts and that leaves the command's process group may outlive the command"
	}
	return ""
}

// Run runs a command until the command ends, ctx ends, or the timeout passes. Run normally returns
// after all processes of the command have ended. After an abort or a timeout, it waits for the
// processes for at most the sum of Grace and abandonAfter, and any remaining processes are
// terminated in the background. The error is non-nil only if the command cannot be started.
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
	capt := newCapture(&c, r.spillDir, r.redact)
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

// begin starts the command, if possible in a supervisor that serves several commands, and returns
// the daemon's ends of its output and input.
func (r *Runner) begin(c *Command) (*child, *os.File, *stdinPipe, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("creating the output pipe: %w", err)
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

// alone runs the command in a supervisor that serves only this command.
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

// drainTime limits the wait for the end of the output after the command's processes have ended.
// Only a process that escaped, or one that is being ended in the background, can keep the pipe
// open. The bytes that are in the pipe by then are always read.
const drainTime = 100 * time.Millisecond

// stdinPipe is the daemon's end of a command's stdin, or nil if the command has no stdin.
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
		return nil, nil, fmt.Errorf("creating the input pipe: %w", err)
	}
	return in, &stdinPipe{w}, nil
}

// feed copies the caller's input. Neither Run nor Close waits for the goroutine, because a reader
// may block forever.
func (r *Runner) feed(s *stdinPipe, from io.Reader) {
	if s == nil {
		return
	}
	go func() {
		_, _ = io.Copy(s.w, from)
		s.w.Close()
	}()
}

// Close ends every process, waits until they have ended, and refuses new ones. It is idempotent.
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
