package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// Process is a long-lived child process with pipes: an MCP server, a language server or a hook. Its
// methods are safe for concurrent use. Stdin and Stdout may each be used by only one goroutine at a
// time.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	k      *child
	stderr *stderrTail
	read   chan struct{} // stderr has ended
	errR   *os.File
}

// Start starts a long-lived child process. The process is killed when ctx ends, when
// Command.Timeout has passed, when Kill is called, or when the Runner is closed. The caller must
// read Stdout, because otherwise the child blocks, and must call Wait.
func (r *Runner) Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting a process: %w", err)
	}
	ends, err := pipes(3)
	if err != nil {
		return nil, err
	}
	in, out, errs := ends[0], ends[1], ends[2]
	k, err := r.start(&c, in.r, out.w, errs.w)
	in.r.Close()
	out.w.Close()
	errs.w.Close()
	if err != nil {
		in.w.Close()
		out.r.Close()
		errs.r.Close()
		return nil, err
	}
	p := &Process{Stdin: in.w, Stdout: out.r, k: k, stderr: &stderrTail{live: c.Stderr},
		read: make(chan struct{}), errR: errs.r}
	r.wg.Add(2)
	go func() {
		defer r.wg.Done()
		defer close(p.read)
		p.stderr.read(errs.r)
	}()
	go func() {
		defer r.wg.Done()
		p.watch(ctx, c.Timeout)
	}()
	return p, nil
}

// watch ends the child when its context ends or its timeout has passed.
func (p *Process) watch(ctx context.Context, timeout time.Duration) {
	p.k.follow(ctx, &Command{Timeout: timeout})
	<-p.k.done
	_ = p.errR.SetReadDeadline(time.Now().Add(drainTime))
	<-p.read
	p.errR.Close()
}

type pipe struct{ r, w *os.File }

func pipes(n int) ([]pipe, error) {
	out := make([]pipe, 0, n)
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range out {
				p.r.Close()
				p.w.Close()
			}
			return nil, fmt.Errorf("creating a pipe: %w", err)
		}
		out = append(out, pipe{r, w})
	}
	return out, nil
}

// Kill ends the child and every process that it started, with SIGTERM first. It does not wait.
func (p *Process) Kill() { p.k.end() }

// Wait waits until no process of the child is left. A non-nil error means that the child could not
// be started.
func (p *Process) Wait() (Result, error) {
	<-p.k.done
	<-p.read
	res := p.k.result(Result{})
	res.Tail = []byte(p.Stderr())
	return res, p.k.startError()
}

// Stderr returns the end of the child's stderr so far, at most 8 KiB.
func (p *Process) Stderr() string { return p.stderr.String() }
