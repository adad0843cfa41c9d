package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// child is one supervised command, as the daemon sees it.
type child struct {
	helper  *helper
	plan    *sandbox.Plan
	began   time.Time
	endOnce sync.Once
	exited  chan struct{} // closed when the command itself has ended or could not be started
	done    chan struct{} // closed when no process is left

	mu     sync.Mutex // guards the fields below
	last   report     // how the command ended
	clean  bool       // the supervisor reported that no process is left
	ended  int
	failed error
}

// abandonAfter is how long Run waits for the command to end after SIGKILL. Then Run returns even if
// the command is still running.
const abandonAfter = 300 * time.Millisecond

// start starts a supervisor for this one command. The supervisor inherits the command's ends of the
// pipes.
func (r *Runner) start(c *Command, stdin, stdout, stderr *os.File) (*child, error) {
	line, err := r.order(c, false)
	if err != nil {
		return nil, err
	}
	h, err := r.launch(c.Sandbox, stdin, stdout, stderr)
	if err != nil {
		return nil, err
	}
	k := r.give(h, c.Sandbox, line, nil)
	if k == nil {
		return nil, errors.New("starting a command: its supervisor was killed; try again")
	}
	return k, nil
}

func newChild(h *helper, plan *sandbox.Plan) *child {
	return &child{helper: h, plan: plan, began: time.Now(), exited: make(chan struct{}),
		done: make(chan struct{})}
}

// order checks the command and encodes the order for its supervisor.
func (r *Runner) order(c *Command, keep bool) ([]byte, error) {
	argv, err := c.argv()
	if err != nil {
		return nil, err
	}
	if err := c.checkDir(); err != nil {
		return nil, err
	}
	line, err := json.Marshal(order{Argv: argv, Dir: c.Dir, Env: c.environment(),
		Sandbox: c.Sandbox, GraceMS: Grace.Milliseconds(), LingerMS: r.linger.Milliseconds(),
		Keep: keep})
	if err != nil {
		return nil, fmt.Errorf("encoding the command: %w", err)
	}
	return append(line, '\n'), nil
}

// heard processes a report from the supervisor.
func (k *child) heard(rep report) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if rep.Error != "" {
		k.failed = errors.New(rep.Error)
	}
	if rep.Exited {
		k.last = rep
		close(k.exited)
	}
	if rep.Done {
		k.clean, k.ended = true, rep.Ended
	}
}

// over records that no process of the command is left.
func (k *child) over() {
	k.mu.Lock()
	if !k.last.Exited {
		close(k.exited)
	}
	k.mu.Unlock()
	close(k.done)
}

// end makes the supervisor terminate every process of the command.
func (k *child) end() { k.endOnce.Do(func() { k.helper.endFor(k) }) }

// follow waits for the command to end and returns how it ended. Time during which the command waits
// for the user does not count toward the timeout.
func (k *child) follow(ctx context.Context, c *Command) Result {
	var limit <-chan time.Time
	var timer *time.Timer
	if c.Timeout > 0 {
		timer = time.NewTimer(c.Timeout)
		defer timer.Stop()
		limit = timer.C
	}
	var res Result
	for {
		select {
		case <-k.done:
		case <-ctx.Done():
			// A command that had already ended is not reported as aborted. Its remaining processes
			// are terminated.
			res.Aborted = !k.hasExited()
			k.endAndWait()
		case <-limit:
			if left := c.Timeout + c.Sandbox.Waited() - time.Since(k.began); left > 0 {
				timer.Reset(max(left, waitStep))
				continue
			}
			res.TimedOut = !k.hasExited()
			k.endAndWait()
		}
		return k.result(res)
	}
}

// waitStep is the minimum interval at which follow checks whether the user has answered.
const waitStep = 100 * time.Millisecond

func (k *child) hasExited() bool {
	select {
	case <-k.exited:
		return true
	default:
		return false
	}
}

func (k *child) endAndWait() {
	k.end()
	t := time.NewTimer(Grace + abandonAfter)
	defer t.Stop()
	select {
	case <-k.done:
	case <-t.C:
	}
}

func (k *child) result(res Result) Result {
	k.mu.Lock()
	defer k.mu.Unlock()
	res.Duration = time.Since(k.began)
	res.ExitCode, res.Signal, res.Lingered = k.last.Code, k.last.Signal, k.ended
	res.Prepared = k.last.Prepared
	if !k.last.Exited {
		res.ExitCode = -1
		res.Lost = !res.Aborted && !res.TimedOut && k.failed == nil
	}
	return res
}

func (k *child) startError() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// stderrTail stores the end of a long-lived child's stderr for error messages.
type stderrTail struct {
	mu   sync.Mutex
	buf  []byte
	live func([]byte)
}

const stderrKept = 8 << 10

func (t *stderrTail) read(r io.Reader) {
	readAll(r, make([]byte, 4<<10), func(p []byte) {
		t.mu.Lock()
		t.buf = append(t.buf, p...)
		if len(t.buf) > 2*stderrKept {
			t.buf = bytes.Clone(t.buf[len(t.buf)-stderrKept:])
		}
		t.mu.Unlock()
		if t.live != nil {
			t.live(p)
		}
	})
}

func (t *stderrTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-stderrKept):])
}
