package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// Process is a long-lived child with pipes: an MCP server, a language server, a hook.
// Its methods are safe for concurrent use; Stdin and Stdout have one user each.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	k      *child
	stderr *stderrTail
	read   chan struct{} // stderr has ended
	errR   *os.File
}

// Start starts a long-lived child. It ends with ctx, with Kill, and with the Runner. The caller
// reads Stdout, or the child stands still, and calls Wait.
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

// watch ends the child with its context or at its timeout.
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
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
		out = append(out, pipe{r, w})
	}
	return out, nil
}

// Kill ends the child and all that it started, SIGTERM first. It does not wait.
func (p *Process) Kill() { p.k.end() }

// Wait waits until nothing of the child is left. The error says that it could not be started.
func (p *Process) Wait() (Result, error) {
	<-p.k.done
	<-p.read
	res := p.k.result(Result{})
	res.Tail = []byte(p.Stderr())
	return res, p.k.startError()
}

// Stderr is the end of what the child said on stderr so far, at most 8 KiB.
func (p *Process) Stderr() string { return p.stderr.String() }
