package jsonrpc

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"
)

const (
	// SoftLimit is how many bytes may wait before notifications of sessions are dropped.
	// Their seq is used up, so a client sees the gap and can load what it missed.
	SoftLimit = 64 << 20
	// HardLimit is how many bytes may wait before the connection is given up: the client
	// asks and asks and never reads.
	HardLimit = 128 << 20
	// maxOutputDelta bounds the waiting text of one tool's live output; its start is dropped
	// beyond, since the item's result holds what counts.
	maxOutputDelta = 256 << 10
	// maxLine bounds the text of one delta in line framing, whose readers have limits of
	// their own (10 MiB is usual) and where escapes may lengthen it sixfold.
	maxLine = 1 << 20
	// maxBatch bounds one write, so that deltas behind it still merge.
	maxBatch = 256 << 10
)

// ErrClosed is the error of a write after the outbox was closed.
var ErrClosed = errors.New("the connection is closed")

// ErrOverrun is the error of a connection whose client does not read.
var ErrOverrun = fmt.Errorf("the client has not read %d MiB of answers", HardLimit>>20)

// Outbox is the only writer of a connection: whatever is put is queued, and one
// goroutine writes it in order, as much at a time as waits. Put never blocks.
//
// What waits is bounded: deltas of one item merge into one frame, states of one session
// replace each other, and beyond SoftLimit and HardLimit see there. There is no timer: a
// frame that is put while the writer is free leaves at once.
type Outbox struct {
	w io.Writer
	// lines frames by newlines instead of headers, and bounds what merges by maxLine;
	// ending closes the deltas' frames.
	lines  bool
	ending string

	mu      sync.Mutex
	queue   []*frame
	waiting int // bytes
	err     error
	closing bool
	// tails holds, by session, what may still change: valid until another frame of the
	// session is queued or the writer takes it.
	tails map[string]*tail

	wake chan struct{}
	lost chan struct{} // closed with the first error
	done chan struct{}
}

type frame struct {
	body    []byte
	delta   *delta // its text is encoded when the frame is written
	session string
}

func (f *frame) size() int {
	if f.delta != nil {
		return len(f.body) + len(f.delta.text)
	}
	return len(f.body)
}

type delta struct {
	text    []byte
	output  bool
	skipped bool
}

type tail struct {
	deltas map[DeltaKey]*frame
	state  *frame
}

// DeltaKey says which deltas may merge.
type DeltaKey struct{ ItemID, Kind string }

// NewOutbox starts the writer on w.
func NewOutbox(w io.Writer) *Outbox { return start(&Outbox{w: w, ending: deltaEnd}) }

// NewLineOutbox starts a writer on w that ends each frame with a newline; bodies must hold
// none. deltaEnd follows the text of each delta, from its closing quote on.
func NewLineOutbox(w io.Writer, deltaEnd string) *Outbox {
	return start(&Outbox{w: w, lines: true, ending: deltaEnd})
}

func start(o *Outbox) *Outbox {
	wake := make(chan struct{}, 1)
	o.tails, o.wake, o.lost, o.done = map[string]*tail{}, wake, make(chan struct{}),
		make(chan struct{})
	go o.write(wake)
	return o
}

// Put queues body, which it keeps. It may be an answer: no state that comes later takes the place
// of one before it.
func (o *Outbox) Put(body []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && o.waiting+len(body) > HardLimit {
		o.fail(ErrOverrun)
	}
	if err := o.refusal(); err != nil {
		return err
	}
	for session, t := range o.tails {
		if t.state != nil {
			delete(o.tails, session)
		}
	}
	o.push(&frame{body: body})
	return nil
}

// PutEvent queues a notification of a session, which it keeps. It reports false where
// it was dropped because too much waits.
func (o *Outbox) PutEvent(session string, body []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.tails, session)
	if !o.room(len(body)) {
		return false
	}
	o.push(&frame{body: body, session: session})
	return true
}

// PutState queues a notification that a later one of its kind makes moot (ReplaceState).
func (o *Outbox) PutState(session string, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.tails, session)
	if !o.room(len(body)) {
		return
	}
	f := &frame{body: body, session: session}
	o.tails[session] = &tail{state: f}
	o.push(f)
}

// ReplaceState replaces the session's last notification by what encode makes, if that one
// came by PutState and still waits, and reports whether it did.
func (o *Outbox) ReplaceState(session string, encode func() []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.tails[session]
	if t == nil || t.state == nil {
		return false
	}
	body := encode()
	o.waiting += len(body) - len(t.state.body)
	t.state.body = body
	return true
}

// Merge adds text to the waiting delta of key and reports whether it did: a text for which there is
// no room is a notification of its own, so that its number is missing.
func (o *Outbox) Merge(session string, key DeltaKey, text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.tails[session]
	if t == nil {
		return false
	}
	f := t.deltas[key]
	if f == nil {
		return false
	}
	before := len(f.delta.text)
	if o.lines && before+len(text) > maxLine {
		return false
	}
	if !f.delta.output && !o.room(len(text)) {
		delete(o.tails, session) // what comes later stands behind the gap
		return false
	}
	f.delta.add(text)
	o.waiting += len(f.delta.text) - before
	return true
}

// PutDelta queues a delta to which later ones of key may be added. prefix is the frame up to the
// opening quote of its text, which ends it; both are kept. It reports false where it was dropped
// because too much waits.
func (o *Outbox) PutDelta(session string, key DeltaKey, prefix []byte, text string,
	output bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.room(len(prefix) + len(text)) {
		delete(o.tails, session)
		return false
	}
	f := &frame{body: prefix, delta: &delta{output: output}, session: session}
	f.delta.add(text)
	t := o.tails[session]
	if t == nil || t.state != nil {
		t = &tail{deltas: map[DeltaKey]*frame{}}
		o.tails[session] = t
	}
	t.deltas[key] = f
	o.push(f)
	return true
}

// add appends text; live output beyond its limit loses its start.
func (d *delta) add(text string) {
	d.text = append(d.text, text...)
	if !d.output || len(d.text) <= maxOutputDelta {
		return
	}
	cut := len(d.text) - maxOutputDelta/2
	for cut < len(d.text) && !utf8.RuneStart(d.text[cut]) {
		cut++
	}
	d.text = append(d.text[:0], d.text[cut:]...)
	d.skipped = true
}

// room reports whether n more bytes of notifications may wait.
func (o *Outbox) room(n int) bool { return o.refusal() == nil && o.waiting+n <= SoftLimit }

func (o *Outbox) refusal() error {
	if o.err == nil && o.closing {
		return ErrClosed
	}
	return o.err
}

func (o *Outbox) push(f *frame) {
	o.queue = append(o.queue, f)
	o.waiting += f.size()
	o.signal()
}

// signal wakes the writer. The caller holds mu.
func (o *Outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// fail records the first error and drops what waits. The caller holds mu.
func (o *Outbox) fail(err error) {
	if o.err == nil {
		o.err = err
		close(o.lost)
	}
	o.queue, o.waiting = nil, 0
	clear(o.tails)
	o.signal()
}

// Err returns the error that ended writing, nil while it works.
func (o *Outbox) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Close lets the writer finish what is queued and then end; later puts are refused.
// It does not wait: Done tells.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closing {
		o.closing = true
		close(o.wake)
		o.wake = nil
	}
}

// Lost is closed when the client is given up: writing failed, or it does not read. The writer may
// still be in a Write that does not end.
func (o *Outbox) Lost() <-chan struct{} { return o.lost }

// Done is closed when the writer has ended: after Close, or when writing failed.
func (o *Outbox) Done() <-chan struct{} { return o.done }

func (o *Outbox) write(wake <-chan struct{}) {
	defer close(o.done)
	var buf []byte
	for {
		frames := o.take()
		if frames == nil {
			if _, open := <-wake; o.over(open) {
				return
			}
			continue
		}
		buf = buf[:0]
		for _, f := range frames {
			buf = o.append(buf, f)
		}
		if _, err := o.w.Write(buf); err != nil {
			o.mu.Lock()
			o.fail(fmt.Errorf("writing to the client: %w", err))
			o.mu.Unlock()
			return
		}
		if cap(buf) > 4*maxBatch {
			buf = nil
		}
	}
}

// over reports whether the writer is done: writing failed, or all is written after Close.
func (o *Outbox) over(open bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil || !open && len(o.queue) == 0
}

// take removes the next frames to write, nil if none waits.
func (o *Outbox) take() []*frame {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, size := 0, 0
	for n < len(o.queue) && (n == 0 || size+o.queue[n].size() <= maxBatch) {
		size += o.queue[n].size()
		n++
	}
	if n == 0 {
		return nil
	}
	frames := o.queue[:n:n]
	if n == len(o.queue) {
		o.queue = nil
		clear(o.tails)
	} else {
		o.queue = o.queue[n:]
		for _, f := range frames {
			o.forget(f)
		}
	}
	o.waiting -= size
	return frames
}

// forget makes sure that nothing is added to a frame that is being written.
func (o *Outbox) forget(f *frame) {
	t := o.tails[f.session]
	if t == nil {
		return
	}
	if t.state == f {
		delete(o.tails, f.session)
	}
	for k, d := range t.deltas {
		if d == f {
			delete(t.deltas, k)
		}
	}
}

const (
	header    = "Content-Length: "
	headerEnd = "\r\n\r\n"
	deltaEnd  = `"}}`
	// skippedNote stands, already escaped, where live output was dropped.
	skippedNote = `[... output skipped: the client reads too slowly ...]\n`
)

// append adds the frame with its header, or its newline, to buf.
func (o *Outbox) append(buf []byte, f *frame) []byte {
	body := f.body
	if f.delta != nil {
		if f.delta.skipped {
			body = append(body, skippedNote...)
		}
		body = AppendEscaped(body, f.delta.text)
		body = append(body, o.ending...)
	}
	if o.lines {
		return append(append(buf, body...), '\n')
	}
	buf = append(buf, header...)
	buf = strconv.AppendInt(buf, int64(len(body)), 10)
	buf = append(buf, headerEnd...)
	return append(buf, body...)
}
