package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// helper is a supervisor's process, as the daemon sees it. It serves one command at a time. Most
// helpers serve many commands, so that most commands do not have to wait until such a large process
// has started.
type helper struct {
	cmd     *exec.Cmd
	control orderPipe
	status  *os.File
	timer   *time.Timer // runs while the helper is idle and releases it when it expires

	r *Runner
	// cur is the command that the helper serves, or nil while the helper waits. It is guarded by
	// the Runner's mu.
	cur *child
	// ahead is the plan of the sandbox that the helper has prepared, or nil if there is no sandbox.
	// It is guarded by the Runner's mu.
	ahead *sandbox.Plan
	gone  bool // the helper has ended; guarded by the Runner's mu
}

// orderPipe is the daemon's end of the control channel. It is safe for concurrent use.
type orderPipe interface {
	// send sends an order and, if output is not nil, the command's output.
	send(line []byte, output *os.File) error
	io.Closer
}

const (
	// idleTime is how long a helper waits for its next order. During a series of commands, a helper
	// is usually ready, and an idle daemon has no helper 30 seconds after its last command.
	idleTime = 25 * time.Second
	// maxIdle is the maximum number of waiting helpers.
	maxIdle = 2
)

// shareable reports whether a supervisor that was started before the command was known can run it.
func shareable(c *Command) bool {
	return handsOver && c.Stdin == nil && (c.Sandbox == nil || c.Sandbox.Kind != sandbox.Namespace)
}

// share runs the command in a waiting supervisor, or in a new one that can serve other commands
// afterwards.
func (r *Runner) share(c Command, output *os.File) (*child, error) {
	if c.Dir == "" {
		c.Dir, _ = os.Getwd() // the supervisor may be in another folder
	}
	line, err := r.order(&c, true)
	if err != nil {
		return nil, err
	}
	if h := r.takeIdle(c.Sandbox); h != nil {
		if k := r.give(h, c.Sandbox, line, output); k != nil {
			r.replace(&c)
			return k, nil
		}
	}
	h, err := r.makeHelper()
	if err != nil {
		return nil, err
	}
	k := r.give(h, c.Sandbox, line, output)
	if k == nil {
		return nil, errors.New("starting a command: its supervisor was killed; try again")
	}
	r.replace(&c)
	return k, nil
}

// replace starts another supervisor if the command's sandbox confines its supervisor, which then
// cannot serve another command.
func (r *Runner) replace(c *Command) {
	if c.Sandbox.Enters() {
		r.prepare()
	}
}

// give passes a command to a supervisor that serves no other command. It returns nil if the
// supervisor has ended.
func (r *Runner) give(h *helper, plan *sandbox.Plan, line []byte, output *os.File) *child {
	k := newChild(h, plan)
	r.mu.Lock()
	if h.gone {
		r.mu.Unlock()
		return nil
	}
	h.cur = k
	r.mu.Unlock()
	if err := h.control.send(line, output); err != nil {
		r.takeBack(h, k)
		return nil
	}
	return k
}

// takeBack reverts what give recorded about a command that never reached its supervisor.
func (r *Runner) takeBack(h *helper, k *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.control.Close()
	if h.cur == k {
		h.cur = nil
	}
}

// makeHelper starts a supervisor that receives the command's output together with each order.
func (r *Runner) makeHelper() (*helper, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	defer null.Close()
	return r.launch(nil, null, null, null)
}

// launch starts a supervisor and the goroutine that follows it.
func (r *Runner) launch(plan *sandbox.Plan, stdin, stdout, stderr *os.File) (*helper, error) {
	control, theirs, err := newControl()
	if err != nil {
		return nil, fmt.Errorf("creating the control channel: %w", err)
	}
	defer theirs.Close()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, fmt.Errorf("creating the status pipe: %w", err)
	}
	defer statusW.Close()
	h := &helper{r: r, control: control, status: statusR}
	h.cmd = &exec.Cmd{Path: r.helper, Args: []string{r.helper, helperArg}, Env: helperEnv(),
		Stdin: stdin, Stdout: stdout, Stderr: stderr}
	err = helperAttr(h.cmd, plan, theirs, statusW)
	if err == nil {
		err = r.spawn(h)
	}
	if err != nil {
		control.Close()
		statusR.Close()
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	return h, nil
}

// spawn starts the process unless the Runner is closed.
func (r *Runner) spawn(h *helper) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	r.helpers[h] = struct{}{}
	r.wg.Add(1)
	go r.attend(h)
	return nil
}

// helperEnv returns the helper's environment. It limits the helper to two processors and turns off
// its garbage collector.
func helperEnv() []string { return append(systemEnv(), "GOMAXPROCS=2", "GOGC=off") }

// attend reads the supervisor's reports until they end, and cleans up if the supervisor was killed.
func (r *Runner) attend(h *helper) {
	defer r.wg.Done()
	r.readReports(h)
	h.status.Close()
	_ = h.cmd.Wait()
	h.control.Close()
	r.mu.Lock()
	delete(r.helpers, h)
	h.gone = true
	r.drop(h)
	k, ahead := h.cur, h.ahead
	h.cur, h.ahead = nil, nil
	r.mu.Unlock()
	if k == nil {
		if ahead != nil && !h.cmd.ProcessState.Exited() {
			sweep() // the killed supervisor left the processes of the prepared sandbox
		}
		return
	}
	k.mu.Lock()
	clean := k.clean || k.failed != nil
	k.mu.Unlock()
	if !clean {
		sweep()
	}
	k.over()
}

// readReports passes each report to the helper's current command.
func (r *Runner) readReports(h *helper) {
	dec := json.NewDecoder(h.status)
	for {
		var rep report
		if err := dec.Decode(&rep); err != nil {
			return
		}
		r.mu.Lock()
		k := h.cur
		r.mu.Unlock()
		if k == nil {
			continue
		}
		k.heard(rep)
		if rep.Done && rep.Ready {
			r.mu.Lock()
			h.cur, h.ahead = nil, nil
			r.keep(h)
			r.prepareSandbox(h, k.plan)
			r.mu.Unlock()
			k.over()
		}
	}
}

// keep makes a supervisor wait for its next order. If enough supervisors are waiting, it ends this
// one. The caller holds mu.
func (r *Runner) keep(h *helper) {
	if r.closed || h.gone || len(r.idle) >= r.maxIdle {
		h.control.Close()
		return
	}
	h.timer = time.AfterFunc(r.idleTime, h.release)
	r.idle = append(r.idle, h)
}

// release terminates a supervisor that is still waiting when its timer expires.
func (h *helper) release() {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.r.drop(h) {
		h.control.Close()
	}
}

// drop removes a supervisor from the list of waiting ones. The caller holds mu.
func (r *Runner) drop(h *helper) bool {
	for i, o := range r.idle {
		if o == h {
			r.idle = append(r.idle[:i:i], r.idle[i+1:]...)
			h.timer.Stop()
			return true
		}
	}
	return false
}

// prepare starts a supervisor for the next command while the current one runs.
func (r *Runner) prepare() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.making || len(r.idle) > 0 {
		return
	}
	r.making = true
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		h, err := r.makeHelper() // if this fails, the next command reports why
		r.mu.Lock()
		defer r.mu.Unlock()
		r.making = false
		if err == nil {
			r.keep(h)
		}
	}()
}

// endFor closes the control channel, and so ends the command, if the helper still serves that
// command.
func (h *helper) endFor(k *child) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.cur == k {
		h.control.Close()
	}
}
