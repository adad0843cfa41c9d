package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// helperArg is the hidden first argument under which this binary is the supervisor.
const helperArg = "__supervise"

// linger is how long what a finished command left behind may still run: time for the end of
// a pipeline to write its last line.
const linger = 200 * time.Millisecond

// order is what the daemon tells the supervisor: JSON, one line, on the control channel. Any byte while the command
// runs, and the channel's end at any time, mean: end everything.
type order struct {
	Argv    []string      `json:"argv"`
	Dir     string        `json:"dir,omitempty"`
	Env     []string      `json:"env"`
	Sandbox *sandbox.Plan `json:"sandbox,omitempty"`
	GraceMS int64         `json:"graceMs"`
	// LingerMS is linger, but for tests that must not depend on how fast the machine is.
	LingerMS int64 `json:"lingerMs"`
	// Keep: the command's output came with the order, and the supervisor waits for another order afterwards.
	Keep bool `json:"keep,omitempty"`
}

// report is what the supervisor tells the daemon, JSON lines on the status pipe.
type report struct {
	Started int    `json:"started,omitempty"` // process id
	Error   string `json:"error,omitempty"`   // it could not be started
	Exited  bool   `json:"exited,omitempty"`
	Code    int    `json:"code,omitempty"`
	Signal  string `json:"signal,omitempty"`
	Done    bool   `json:"done,omitempty"` // no process is left
	Ended   int    `json:"ended,omitempty"`
	Ready   bool   `json:"ready,omitempty"` // with Done: it waits for the next order
}

// A process that was started as a supervisor is one from here on: before the packages that are
// initialised after this one, whose cost each command would pay.
func init() { MaybeHelper() }

// MaybeHelper turns the process into a supervisor, and never returns, if it was started as one.
// This package does so by itself when it is initialised; a main that calls it says so to its readers.
func MaybeHelper() {
	if len(os.Args) >= 2 && os.Args[1] == helperArg {
		os.Exit(supervise())
	}
}

// supervisor is the state of the helper process for one command.
type supervisor struct {
	status  *json.Encoder
	control *control
	signals <-chan os.Signal
	order   order
	output  *os.File // the command's, if it came with the order
	last    bool     // no other command is taken after this one
	events  chan event
	exited  bool
	ended   int
	ending  bool
	main    int // the command's process
}

// ordersPerHelper bounds how many commands one helper serves: it never collects its garbage.
const ordersPerHelper = 200

type event struct {
	kind   eventKind
	report report
}

type eventKind int

const (
	evExit    eventKind = iota // the command itself has ended
	evAllDead                  // no descendant is left, the command itself included
)

func supervise() int {
	in, out, err := helperPipes()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-lsp: this argument is for internal use:", err)
		return 2
	}
	control, signals := listen(in), catchSignals()
	status := json.NewEncoder(out)
	for n := 1; ; n++ {
		s := &supervisor{status: status, control: control, signals: signals, last: n >= ordersPerHelper, events: make(chan event, 4)}
		select {
		case o, ok := <-control.orders:
			if !ok {
				return 2 // the daemon is gone, or needs none
			}
			if err := json.Unmarshal(o.line, &s.order); err != nil {
				return 2
			}
			s.output = o.output
		case <-signals:
			return 2
		}
		if err := s.start(); err != nil {
			_ = status.Encode(report{Error: err.Error()})
			return 1
		}
		if !s.loop() {
			return 0
		}
		_ = os.Chdir("/") // hold no folder while waiting
	}
}

// control is the daemon's word, read by a goroutine of its own.
type control struct {
	orders chan given // closed when the daemon is gone or wants the end
}

// given is an order and what came with it.
type given struct {
	line   []byte
	output *os.File
}

// loop lives until nothing is left of the command, and says whether another may come.
func (s *supervisor) loop() bool {
	var timer <-chan time.Time
	orders, signals := s.control.orders, s.signals
	for {
		select {
		case e := <-s.events:
			switch e.kind {
			case evExit:
				s.exited = true
				_ = s.status.Encode(e.report)
				if !s.ending {
					timer = time.After(time.Duration(s.order.LingerMS) * time.Millisecond)
				}
			case evAllDead:
				end := e.report // of the command itself, where it was the last
				end.Done, end.Ended, end.Ready = true, s.ended, s.order.Keep && !s.last && !s.order.Sandbox.Enters()
				_ = s.status.Encode(end)
				return end.Ready
			}
		case <-orders: // the daemon says so, or is gone
			orders, s.last = nil, true
			timer = s.endNow(timer)
		case <-signals:
			signals, s.last = nil, true
			timer = s.endNow(timer)
		case <-timer:
			timer = s.escalate()
		}
	}
}

func (s *supervisor) endNow(timer <-chan time.Time) <-chan time.Time {
	if s.ending {
		return timer
	}
	return s.terminate()
}

// terminate asks every descendant to end; the returned timer says when to stop asking.
func (s *supervisor) terminate() <-chan time.Time {
	s.ending = true
	n := s.signalAll(false)
	if s.exited {
		s.ended += n
	}
	return time.After(time.Duration(s.order.GraceMS) * time.Millisecond)
}

// escalate follows a timer: after linger it asks, after the grace it kills, and again until
// evAllDead comes, since what is killed may have forked meanwhile.
func (s *supervisor) escalate() <-chan time.Time {
	if !s.ending {
		return s.terminate()
	}
	s.signalAll(true)
	return time.After(killAgain)
}

// killAgain is the pause between two rounds of SIGKILL.
const killAgain = 5 * time.Millisecond
