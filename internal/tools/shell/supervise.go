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

// helperArg is the hidden first argument under which this binary is the supervisor.
const helperArg = "__supervise"

// linger is how long what a finished command left behind may still run: time for the end of
// a pipeline to write its last line.
const linger = 200 * time.Millisecond

// order is what the daemon sends to the supervisor: one line of JSON on the control channel. Any
// byte while the command runs, or the end of the channel at any time, means: end everything.
type order struct {
	Argv    []string      `json:"argv"`
	Dir     string        `json:"dir,omitempty"`
	Env     []string      `json:"env"`
	Sandbox *sandbox.Plan `json:"sandbox,omitempty"`
	GraceMS int64         `json:"graceMs"`
	// LingerMS is linger, but for tests that must not depend on how fast the machine is.
	LingerMS int64 `json:"lingerMs"`
	// Keep: the command's output came with the order, and the supervisor waits for another order
	// afterwards.
	Keep bool `json:"keep,omitempty"`
	// Prepare: there is no command yet, only the sandbox of the next one.
	Prepare bool `json:"prepare,omitempty"`
}

// report is what the supervisor sends to the daemon: lines of JSON on the status pipe.
type report struct {
	Error  string `json:"error,omitempty"` // it could not be started
	Exited bool   `json:"exited,omitempty"`
	Code   int    `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"`
	Done   bool   `json:"done,omitempty"` // no process is left
	Ended  int    `json:"ended,omitempty"`
	Ready  bool   `json:"ready,omitempty"` // with Done: it waits for the next order
	// Prepared, with Exited: the command ran in the sandbox that was prepared.
	Prepared bool `json:"prepared,omitempty"`
}

// A process that was started as a supervisor is one from here on: before the packages that are
// initialised after this one, whose cost each command would pay.
func init() { MaybeHelper() }

// MaybeHelper turns the process into a supervisor, and never returns, if it was started as one. The
// package calls it when it is initialized. A main function that calls it makes this visible to its
// readers.
func MaybeHelper() {
	if len(os.Args) >= 2 && os.Args[1] == helperArg {
		// Not on this goroutine: it is bound to its thread while packages are initialised, and each
		// message to it would have to wake two threads.
		go supervise()
		select {}
	}
}

// ordersPerHelper bounds how many commands one helper serves: it never collects its garbage.
const ordersPerHelper = 200

// post is the helper process: it accepts one order after another and knows the running command.
//
// The goroutine that reads an order executes it, waits for the command and reports its end. The
// next goroutine reads the channel meanwhile. So no command waits for one goroutine to wake
// another.
type post struct {
	orders orders // read by one goroutine at a time

	mu     sync.Mutex // guards what follows, and every change of a command's state
	status *json.Encoder
	cur    *supervisor // nil: none runs
	taken  int
	ahead  *sandbox.Prepared // for the next command, nil: none
}

// orders is the control channel. An error of next means that the daemon is gone or asks for the
// end.
type orders interface{ next() (given, error) }

// given is an order and what came with it.
type given struct {
	line   []byte
	output *os.File
}

// supervisor is the state of one command.
type supervisor struct {
	*post
	order  order
	output *os.File          // the command's, if it came with the order
	box    *sandbox.Prepared // the sandbox of the command, if it was prepared
	last   bool              // no other command is taken after this one
	exited bool
	ended  int
	ending bool
	main   int         // the command's process
	proxy  int         // connection to the proxy that the supervisor holds, 0 without
	timer  *time.Timer // of escalate, nil before there is one
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

// exitRefused is the code of a helper that ends without a command to wait for.
const exitRefused = 2

// endOnSignal ends everything when the supervisor itself receives a signal to end.
func (p *post) endOnSignal(signals <-chan os.Signal) {
	for range signals {
		p.mu.Lock()
		p.end()
		p.mu.Unlock()
	}
}

// end ends the command that runs, and the process where none does. Caller holds mu.
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

// serve reads what comes next on the control channel, and if it is an order, carries it out.
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

// prepare makes a sandbox for the next command. Caller holds mu.
func (p *post) prepare(plan *sandbox.Plan) {
	p.discard()
	p.ahead, _ = plan.Prepare(systemEnv()) // without one, the command makes its own
}

// discard ends the sandbox that was prepared. Caller holds mu.
func (p *post) discard() {
	if p.ahead != nil {
		p.ahead.Discard()
	}
	p.ahead = nil
}

// begin starts the ordered command. Whatever comes while one runs means its end; then there is
// nothing more to read. more reports that the caller reads on.
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

// left reports that the command itself has ended while processes that it started have not. They get
// linger to end.
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

// over reports that no process is left, with the command's own end if that was the last. Then the
// helper process exits, unless it may accept another order.
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
	_ = os.Chdir("/") // hold no folder while waiting
}

// terminate asks every descendant to end, and after the grace stops asking. Caller holds mu.
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

// escalate follows a timer: after linger it asks, after the grace it kills, and again until
// nothing is left, since what is killed may have forked meanwhile.
func (s *supervisor) escalate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cur != s: // it ended while this waited
	case !s.ending:
		s.terminate()
	default:
		s.signalAll(true)
		s.timer = time.AfterFunc(killAgain, s.escalate)
	}
}

// killAgain is the pause between two rounds of SIGKILL.
const killAgain = 5 * time.Millisecond
