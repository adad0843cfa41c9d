package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"
)

const (
	// SoftLimit is the number of queued bytes above which notifications of sessions are dropped. A
	// dropped notification still uses up its sequence number, so that the client detects the gap
	// and can load the missing notifications.
	SoftLimit = 64 << 20
	// HardLimit is the number of queued bytes above which the connection is closed, because the
	// client keeps sending requests and does not read.
	HardLimit = 128 << 20
	// maxOutputDelta limits the queued text of one tool's live output. When the limit is exceeded,
	// the beginning is dropped, because the item's result contains the part that matters.
	maxOutputDelta = 256 << 10
	// maxLine limits the text of merged deltas in line framing. Line readers of clients often have
	// a limit (10 MiB is common), and escaping may lengthen the text sixfold.
	maxLine = 1 << 20
	// maxBatch limits the size of one write of several frames, so that later deltas can still
	// merge.
	maxBatch = 256 << 10
)

// ErrClosed is the error for a write after the outbox was closed.
var ErrClosed = errors.New("the connection is closed")

// ErrOverrun is the error for a connection whose client does not read.
var ErrOverrun = fmt.Errorf("the client has not read %d MiB of responses", HardLimit>>20)

// Outbox is the only writer of a connection. It queues frames. One goroutine writes them in order
// and combines queued frames into larger writes (see maxBatch). Put never blocks.
//
// The queue is bounded. Deltas of one item merge into one frame, a session's newer state replaces
// the older one, and SoftLimit and HardLimit apply. No timer is used. While the writer is idle, a
// frame is written immediately.
type Outbox struct {
	w io.Writer
	// lines selects framing by newlines instead of headers, and limits merged deltas to maxLine.
	// ending is the end of a delta's frame.
	lines  bool
	ending string

	mu      sync.Mutex
	queue   []*frame
	waiting int // number of queued bytes
	err     error
	closing bool
	// tails maps sessions to their queued frames that may still change: a state, or one delta of
	// each key. A frame leaves tails when the writer takes it, or when another notification of the
	// session is queued. A delta does not replace deltas of other keys.
	tails map[string]*tail

	wake chan struct{}
	lost chan struct{} // closed on the first error
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

// DeltaKey identifies deltas that may merge.
type DeltaKey struct{ ItemID, Kind string }

// NewOutbox returns an outbox that writes frames with headers to w.
func NewOutbox(w io.Writer) *Outbox { return start(&Outbox{w: w, ending: deltaEnd}) }

// NewLineOutbox returns an outbox that writes to w and ends each frame with a newline. Bodies must
// not contain a newline. deltaEnd is written after the text of each delta and starts with the
// closing quote.
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

// Put queues body and takes ownership of it. body may be a response, so states that are queued
// before it can no longer be replaced by later ones.
func (o *Outbox) Put(body []byte) error { return o.PutUntil(context.Background(), body) }

// PutUntil is like Put, but queues nothing once ctx has ended. body therefore never follows a frame
// that was queued after the end of ctx.
func (o *Outbox) PutUntil(ctx context.Context, body []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
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

// PutEvent queues a notification about a session and takes ownership of body. If the queue is full,
// it drops the notification and returns false.
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

// PutState queues a notification that a later one may replace (see ReplaceState). If the queue is
// full, it drops the notification.
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

// ReplaceState replaces the session's last notification with the result of encode, if that
// notification was queued by PutState and is still waiting. It reports whether it replaced a
// notification.
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

// Merge adds text to the queued delta of key and reports whether it did. If the queue is full,
// Merge returns false, except for live output, whose length is limited. The caller then queues a
// separate notification, which is dropped, so that the client detects the gap.
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
		delete(o.tails, session) // no text may be added before the gap
		return false
	}
	f.delta.add(text)
	o.waiting += len(f.delta.text) - before
	return true
}

// PutDelta queues a delta to which later deltas of key may be added. prefix is the frame up to the
// opening quote of its text. PutDelta takes ownership of prefix. If the queue is full, it drops the
// delta and returns false.
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

// add appends text. If live output exceeds its limit, its beginning is dropped.
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

// room reports whether n more bytes of notifications may be queued.
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

// signal wakes the writer. The caller must hold mu.
func (o *Outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// fail records the first error and drops the queue. The caller must hold mu.
func (o *Outbox) fail(err error) {
	if o.err == nil {
		o.err = err
		close(o.lost)
	}
	o.queue, o.waiting = nil, 0
	clear(o.tails)
	o.signal()
}

// Err returns the error that ended writing, or nil.
func (o *Outbox) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Close makes the writer end after it has written the queue. Later puts are refused. Close does not
// wait. To wait, use Done.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closing {
		o.closing = true
		close(o.wake)
		o.wake = nil
	}
}

// Lost returns a channel that is closed when the outbox gives up on the client because writing
// failed or the client does not read. The writer may still be blocked in Write.
func (o *Outbox) Lost() <-chan struct{} { return o.lost }

// Done returns a channel that is closed when the writer has ended, after Close or an error.
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

// over reports whether the writer can end, because writing failed or because everything was written
// after Close.
func (o *Outbox) over(open bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil || !open && len(o.queue) == 0
}

// take removes the next frames to write, or returns nil if none is queued.
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

// forget removes a frame from tails, so that the frame does not change while it is being written.
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
	// skippedNote marks where live output was dropped. It is already escaped.
	skippedNote = `[... output skipped: the client reads too slowly ...]\n`
)

// append appends the frame with its header, or its newline, to buf.
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
