package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// helperArg is the hidden first argument that makes this binary the supervisor.
const helperArg = "__supervise"

// linger is how long the processes that a finished command left behind may still run. It gives the
// end of a pipeline time to write its last line.
const linger = 200 * time.Millisecond

// order is the message from the daemon to the supervisor: one line of JSON on the control channel.
// If any byte arrives while the command runs, or if the channel ends at any time, the supervisor
// terminates all processes of the command.
type order struct {
	Argv    []string      `json:"argv"`
	Dir     string        `json:"dir,omitempty"`
	Env     []string      `json:"env"`
	Sandbox *sandbox.Plan `json:"sandbox,omitempty"`
	GraceMS int64         `json:"graceMs"`
	// LingerMS is linger in milliseconds. Tests that must not depend on the machine's speed set
	// another value.
	LingerMS int64 `json:"lingerMs"`
	// Keep means that the command's output is sent with the order, and that the supervisor waits
	// for another order afterwards.
	Keep bool `json:"keep,omitempty"`
	// Prepare means that there is no command yet, only the sandbox for the next one.
	Prepare bool `json:"prepare,omitempty"`
}

// report is the message from the supervisor to the daemon: a line of JSON on the status pipe.
type report struct {
	Error  string `json:"error,omitempty"` // why the command could not be started
	Exited bool   `json:"exited,omitempty"`
	Code   int    `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"`
	Done   bool   `json:"done,omitempty"` // no process is left
	Ended  int    `json:"ended,omitempty"`
	Ready  bool   `json:"ready,omitempty"` // with Done: the supervisor waits for the next order
	// Prepared, with Exited, means that the command ran in the prepared sandbox.
	Prepared bool `json:"prepared,omitempty"`
}

// A process that was started as a supervisor becomes one here, before other packages are
// initialized. Otherwise, each command would have to wait for their initialization.
func init() { MaybeHelper() }

// MaybeHelper turns the process into a supervisor, and never returns, if the process was started as
// one. The package calls MaybeHelper when it is initialized. The call in main only makes this
// visible to readers.
func MaybeHelper() {
	if len(os.Args) >= 2 && os.Args[1] == helperArg {
		// supervise does not run on this goroutine, which is bound to its thread while packages are
		// initialized. Otherwise, each message to it would have to wake two threads.
		go supervise()
		select {}
	}
}

// ordersPerHelper limits how many commands one helper serves, because a helper never collects its
// garbage.
const ordersPerHelper = 200

// post is the state of the helper process, which accepts one order after another.
//
// The goroutine that reads an order executes it, waits for the command and reports its end. The
// next goroutine reads the channel in the meantime. This way, no command waits for one goroutine to
// wake another.
type post struct {
	orders orders // read by one goroutine at a time

	mu     sync.Mutex // guards the fields below, and every change to a command's state
	status *json.Encoder
	cur    *supervisor // nil if no command is running
	taken  int
	ahead  *sandbox.Prepared // sandbox for the next command, nil if there is no sandbox
}

// orders is the control channel. An error from next means that the daemon has ended or asks the
// supervisor to end everything.
type orders interface{ next() (given, error) }

// given is an order and the descriptor that was sent with it.
type given struct {
	line   []byte
	output *os.File
}

// supervisor is the state of one command.
type supervisor struct {
	*post
	order  order
	output *os.File          // output of the command, if it came with the order
	box    *sandbox.Prepared // the sandbox of the command, if it was prepared
	last   bool              // no other command is accepted after this one
	exited bool
	ended  int
	ending bool
	main   int         // the command's process
	proxy  int         // connection to the proxy that the supervisor keeps open; 0: none
	timer  *time.Timer // timer of escalate, nil before it is started
}

func supervise() {
	in, out, err := helperPipes()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-lsp: this argument is for internal use:", err)
		exit(exitRefused)
	}
	p := &post{orders: listen(in), status: json.NewEncoder(out)}
	go p.endOnSignal(catchSignals())
	p.serve()
}

// exit ends the process without the hooks of os.Exit. There are none here, but under the race
// detector os.Exit sleeps for a second.
func exit(code int) { syscall.Exit(code) }

// exitRefused is the exit code of a helper that ends without a command to wait for.
const exitRefused = 2

// endOnSignal ends everything when the supervisor itself receives a signal to end.
func (p *post) endOnSignal(signals <-chan os.Signal) {
	for range signals {
		p.mu.Lock()
		p.end()
		p.mu.Unlock()
	}
}

// end ends the running command, or the process if no command is running. The caller holds mu.
func (p *post) end() {
	if p.cur == nil {
		p.discard()
		exit(exitRefused)
	}
	p.cur.last = true
	if !p.cur.ending {
		p.cur.terminate()
	}
}

// serve reads the next message on the control channel and executes it if it is an order.
func (p *post) serve() {
	for {
		o, err := p.orders.next()
		s, more := p.begin(o, err)
		if s != nil {
			go p.serve()
			s.wait()
		}
		if !more {
			return
		}
	}
}

// prepare creates a sandbox for the next command. The caller holds mu.
func (p *post) prepare(plan *sandbox.Plan) {
	p.discard()
	p.ahead, _ = plan.Prepare(systemEnv()) // if this fails, the command creates its own
}

// discard ends the prepared sandbox. The caller holds mu.
func (p *post) discard() {
	if p.ahead != nil {
		p.ahead.Discard()
	}
	p.ahead = nil
}

// begin starts the ordered command. Any message while a command runs ends that command, and then
// there is nothing more to read. more reports whether the caller must continue to read.
func (p *post) begin(o given, err error) (s *supervisor, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s = &supervisor{post: p, output: o.output}
	if p.cur != nil || err != nil || json.Unmarshal(o.line, &s.order) != nil {
		p.end()
		return nil, false
	}
	if s.order.Prepare {
		p.prepare(s.order.Sandbox)
		return nil, true
	}
	p.taken++
	s.last = p.taken >= ordersPerHelper
	if err := s.start(); err != nil {
		_ = p.status.Encode(report{Error: err.Error()})
		exit(1)
	}
	p.cur = s
	return s, false
}

// left reports that the command itself has ended but processes that it started are still running.
// They may run for the duration of linger.
func (s *supervisor) left(end report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exited = true
	end.Prepared = s.box != nil
	_ = s.status.Encode(end)
	if !s.ending {
		s.timer = time.AfterFunc(time.Duration(s.order.LingerMS)*time.Millisecond, s.escalate)
	}
}

// over reports that no process is left. The report includes the command's own end if that has not
// been sent yet. The helper process then exits, unless it may accept another order.
func (s *supervisor) over(end report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	end.Prepared = s.box != nil
	end.Done, end.Ended, end.Ready = true, s.ended, s.order.Keep && !s.last &&
		!s.order.Sandbox.Enters()
	_ = s.status.Encode(end)
	if s.box != nil {
		s.box.Release()
	}
	s.closeProxy()
	if !end.Ready {
		exit(0)
	}
	s.cur = nil
	_ = os.Chdir("/") // do not keep a folder open while waiting
}

// terminate asks every descendant to end. After the grace period, escalate kills them. The caller
// holds mu.
func (s *supervisor) terminate() {
	s.ending = true
	n := s.signalAll(false)
	if s.exited {
		s.ended += n
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(time.Duration(s.order.GraceMS)*time.Millisecond, s.escalate)
}

// escalate runs when a timer expires. After linger it asks the processes to end. After the grace
// period it kills them, and repeats this until no process is left, because a process may have
// forked before it was killed.
func (s *supervisor) escalate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cur != s: // the command ended during this wait
	case !s.ending:
		s.terminate()
	default:
		s.signalAll(true)
		s.timer = time.AfterFunc(killAgain, s.escalate)
	}
}

// killAgain is the pause between two rounds of SIGKILL.
const killAgain = 5 * time.Millisecond
