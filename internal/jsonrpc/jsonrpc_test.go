package jsonrpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func frameOf(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body),
		body)
}

func ping(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }

// readAll passes input to a stream. It returns the bodies that the stream returned, and the error
// codes with which the stream responded.
func readAll(t *testing.T, input string) (bodies []string, codes []int) {
	t.Helper()
	var sent lockedBuffer
	out := NewOutbox(&sent)
	s := NewStream(strings.NewReader(input), out)
	s.End = func(error) { s.Close() }
	for {
		body, _, err := s.ReadFrame(t.Context())
		if err != nil {
			break
		}
		bodies = append(bodies, string(body))
	}
	out.Close()
	<-out.Done()
	for _, m := range parseFrames(t, sent.bytes()) {
		var a struct {
			ID    json.RawMessage
			Error struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal(m, &a); err != nil || string(a.ID) != "null" ||
			a.Error.Message == "" {
			t.Fatalf("responded with %s (%v), want an error with id null", m, err)
		}
		codes = append(codes, a.Error.Code)
	}
	return bodies, codes
}

func TestStreamSurvives(t *testing.T) {
	const good = `{"jsonrpc":"2.0","method":"ok"}`
	for name, c := range map[string]struct {
		bad  string
		code int
	}{
		"body not JSON":    {frameOf("hello"), -32700},
		"half JSON":        {frameOf(`{"jsonrpc":"2.0"`), -32700},
		"trailing garbage": {frameOf(good + "x"), -32700},
		"scalar":           {frameOf("5"), -32700},
		"wrong version":    {frameOf(`{"jsonrpc":"1.0","id":1,"method":"x"}`), -32600},
		"no method":        {frameOf(`{"jsonrpc":"2.0","id":1}`), -32600},
		"result and error": {frameOf(`{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,` +
			`"message":""}}`), -32600},
		"header without colon":  {"Content-Length 5\r\n\r\nhello", -32700},
		"length not a number":   {"Content-Length: five\r\n\r\nhello", -32700},
		"negative length":       {"Content-Length: -5\r\n\r\nhello", -32700},
		"no length":             {"Content-Type: x\r\n\r\nhello", -32700},
		"absurd length":         {"Content-Length: 99999999999999999999\r\n\r\n", -32700},
		"empty body":            {frameOf(""), -32700},
		"endless header line":   {strings.Repeat("x", 100_000) + "\r\n", -32700},
		"a body longer than it": {"Content-Length: 3\r\n\r\nabcdefg", -32700},
	} {
		t.Run(name, func(t *testing.T) {
			bodies, codes := readAll(t, frameOf(ping(1))+c.bad+frameOf(ping(2)))
			if len(bodies) != 2 || bodies[1] != ping(2) {
				t.Errorf("read %q, want both pings", bodies)
			}
			if len(codes) == 0 || codes[0] != c.code {
				t.Errorf("answered %v, want %d", codes, c.code)
			}
		})
	}
}

func TestStreamAccepts(t *testing.T) {
	for name, input := range map[string]string{
		"lower case":    "content-length: 40\r\n\r\n",
		"more fields":   "Content-Type: a; b\r\nContent-Length: 40\r\nX: y\r\n\r\n",
		"bare newlines": "Content-Length: 40\n\n",
		"blank lines":   "\r\n\r\nContent-Length: 40\r\n\r\n",
	} {
		bodies, codes := readAll(t, input+ping(1)[:39]+"}"+frameOf(ping(2)))
		if len(bodies) != 2 || len(codes) != 0 {
			t.Errorf("%s: read %q, answered %v", name, bodies, codes)
		}
	}
}

func TestStreamSkipsFramesOverTheLimit(t *testing.T) {
	big := io.MultiReader(
		strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", MaxFrame+1)),
		io.LimitReader(zeros{}, MaxFrame+1), strings.NewReader(frameOf(ping(7))))
	var sent lockedBuffer
	out := NewOutbox(&sent)
	s := NewStream(big, out)
	body, _, err := s.ReadFrame(t.Context())
	if err != nil || string(body) != ping(7) {
		t.Fatalf("read %q (%v), want the frame after the big one", body, err)
	}
	out.Close()
	<-out.Done()
	if !bytes.Contains(sent.bytes(), []byte("-32600")) {
		t.Errorf("answered %q, want -32600", sent.bytes())
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestMutatedStreamsRecover damages streams at random. After enough padding, the stream must always
// find the next valid frame.
func TestMutatedStreamsRecover(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range rounds {
		input := mutated(rng, frameOf(ping(1))+
			frameOf(`{"jsonrpc":"2.0","method":"x","params":{"a":"é\n"}}`)+frameOf(`[`+ping(2)+`]`))
		checkRecovers(t, input, i)
	}
}

func mutated(rng *rand.Rand, s string) string {
	b := []byte(s)
	for range 1 + rng.IntN(4) {
		if len(b) == 0 {
			break
		}
		at := rng.IntN(len(b))
		switch rng.IntN(4) {
		case 0:
			b[at] = byte(rng.IntN(256))
		case 1:
			b = append(b[:at], b[at+1:]...)
		case 2:
			b = append(b[:at], append([]byte{byte(rng.IntN(256))}, b[at:]...)...)
		case 3:
			b = b[:max(at, 1)]
		}
	}
	return string(b)
}

// checkRecovers appends padding and then a marker. The padding is needed because a frame with a
// wrong length consumes as many bytes as it claims.
func checkRecovers(t *testing.T, input string, round int) {
	t.Helper()
	const room = 12_000
	tail := frameOf(`{"jsonrpc":"2.0","method":"marker"}`)
	bodies, _ := readAll(t, input+strings.Repeat(" ", room)+"\r\n"+tail+tail+tail)
	if len(bodies) == 0 || bodies[len(bodies)-1] != `{"jsonrpc":"2.0","method":"marker"}` {
		t.Fatalf("round %d: the marker after %q was not found; read %q", round, input, bodies)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(frameOf(ping(1))))
	f.Add([]byte("Content-Length: 5\r\n\r\nhelloContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte(frameOf(`[` + ping(1) + `,5]`)))
	f.Fuzz(func(t *testing.T, input []byte) {
		if bytes.Contains(bytes.ToLower(input), []byte("content-length")) && len(input) > 4096 {
			return
		}
		readAll(t, string(input))
	})
}

// lockedBuffer is a writer whose content can be read while others write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

func parseFrames(t *testing.T, data []byte) (bodies [][]byte) {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(data))
	for {
		if _, err := r.Peek(1); err != nil {
			return bodies
		}
		var n int
		if _, err := fmt.Fscanf(r, "Content-Length: %d\r\n\r\n", &n); err != nil {
			t.Fatalf("reading the sent frames: %v in %.200q", err, data)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
}

// gate is a writer that blocks until it is opened, like a client that does not read.
type gate struct {
	lockedBuffer
	open    chan struct{}
	entered chan struct{}
	once    sync.Once
}

func newGate() *gate { return &gate{open: make(chan struct{}), entered: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.entered) })
	<-g.open
	return g.lockedBuffer.Write(p)
}

func put(o *Outbox, session, item, text string) {
	key := DeltaKey{item, "text"}
	if !o.Merge(session, key, text) {
		o.PutDelta(session, key, []byte(`{"item":"`+item+`","params":{"text":"`), text, false)
	}
}

func TestDeltasMergeWhileTheWriterIsBusy(t *testing.T) {
	g := newGate()
	o := NewOutbox(g)
	o.PutEvent("s", []byte(`{"n":0}`))
	<-g.entered
	for range 1000 {
		put(o, "s", "a", "x\"\n")
		put(o, "s", "b", "é")
	}
	o.PutEvent("s", []byte(`{"n":1}`))
	put(o, "s", "a", "late")
	close(g.open)
	o.Close()
	<-o.Done()
	frames := parseFrames(t, g.bytes())
	if len(frames) != 5 {
		t.Fatalf("sent %d frames, want 5: the first, one per item, the second, the late delta",
			len(frames))
	}
	var d struct{ Params struct{ Text string } }
	if err := json.Unmarshal(frames[1], &d); err != nil ||
		d.Params.Text != strings.Repeat("x\"\n", 1000) {
		t.Errorf("merged delta is %.80q (%v)", d.Params.Text, err)
	}
	if !bytes.Contains(frames[4], []byte("late")) {
		t.Errorf("a delta after an event was sent as %s", frames[4])
	}
}

func TestStatesReplaceEachOther(t *testing.T) {
	g := newGate()
	o := NewOutbox(g)
	o.PutEvent("s", []byte(`{"n":0}`))
	<-g.entered
	state := func(session string, n int) {
		body := fmt.Appendf(nil, `{"state":%d}`, n)
		if !o.ReplaceState(session, func() []byte { return body }) {
			o.PutState(session, body)
		}
	}
	for n := range 10 {
		state("s", n)
	}
	state("t", 50)
	o.PutEvent("s", []byte(`{"n":1}`))
	state("s", 60)
	close(g.open)
	o.Close()
	<-o.Done()
	var got []string
	for _, f := range parseFrames(t, g.bytes()) {
		got = append(got, string(f))
	}
	want := `{"n":0} {"state":9} {"state":50} {"n":1} {"state":60}`
	if strings.Join(got, " ") != want {
		t.Errorf("sent %s, want %s", strings.Join(got, " "), want)
	}
}

// A response is sent before the session state that the request causes. The new state must not
// replace an older one that is queued before the response.
func TestAStateDoesNotOvertakeAnAnswer(t *testing.T) {
	g := newGate()
	o := NewOutbox(g)
	o.PutEvent("s", []byte(`{"n":0}`))
	<-g.entered
	o.PutState("s", []byte(`{"state":1}`))
	_ = o.Put([]byte(`{"answer":1}`))
	if o.ReplaceState("s", func() []byte { return []byte(`{"state":2}`) }) {
		t.Error("the state was sent before the answer")
	}
	close(g.open)
	o.Close()
	<-o.Done()
}

// waiting returns the number of bytes in the queue.
func waiting(o *Outbox) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting
}

// If the context of a question ends before the question is queued, the question is not sent. It
// therefore cannot follow a message that was queued after the end of the context. A response is
// sent even if its context has ended.
func TestAQuestionDoesNotFollowItsEnd(t *testing.T) {
	var sent lockedBuffer
	out := NewOutbox(&sent)
	s := NewStream(strings.NewReader(""), out)
	ctx, cancel := context.WithCancel(t.Context())
	s.Filter = func(body []byte) []byte {
		cancel()
		_ = out.Put([]byte(ping(1)))
		return body
	}
	told := false
	_, err := s.WriteFrame(WhenQueued(ctx, func() { told = true }), []byte(ping(2)))
	if !errors.Is(err, context.Canceled) || told {
		t.Errorf("%v, reported as queued: %t", err, told)
	}
	s.Filter = nil
	if _, err := s.WriteFrame(ctx, []byte(ping(3))); err != nil {
		t.Error(err)
	}
	out.Close()
	<-out.Done()
	var got []string
	for _, m := range parseFrames(t, sent.bytes()) {
		got = append(got, string(m))
	}
	if want := []string{ping(1), ping(3)}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAClientThatDoesNotReadCostsBoundedMemory(t *testing.T) {
	g := newGate()
	o := NewOutbox(g)
	o.PutEvent("s", []byte(`{"n":0}`))
	<-g.entered
	key, chunk := DeltaKey{"i", "toolOutput"}, strings.Repeat("é", 32<<10)
	for range 200 {
		if !o.Merge("s", key, chunk) {
			o.PutDelta("s", key, []byte(`{"params":{"text":"`), chunk, true)
		}
	}
	if w := waiting(o); w > 2*maxOutputDelta {
		t.Errorf("live output has %d queued bytes", w)
	}
	big := bytes.Repeat([]byte("x"), 1<<20)
	for range 200 {
		o.PutEvent("s", big)
	}
	if w := waiting(o); w > SoftLimit {
		t.Errorf("%d bytes of notifications are queued, the limit is %d", w, SoftLimit)
	}
	var err error
	for range 200 {
		if err = o.Put(big); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrOverrun) || !errors.Is(o.Err(), ErrOverrun) {
		t.Errorf("answers to a client that never reads end with %v, want %v", err, ErrOverrun)
	}
	close(g.open)
	<-o.Done()
}

func TestAnOutboxThatCannotWriteEnds(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	o := NewOutbox(w)
	_ = o.Put([]byte("{}"))
	select {
	case <-o.Done():
	case <-time.After(time.Minute):
		t.Fatal("the writer did not stop")
	}
	if err := o.Put([]byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a put afterwards gave %v", err)
	}
}

func TestAppendEscaped(t *testing.T) {
	for _, in := range []string{"", "plain", "a\"b\\c", "\n\r\t\x00\x1f", "é€😀", "bad\xff\xc3",
		"\u2028", "</script>"} {
		got := `"` + string(AppendEscaped(nil, in)) + `"`
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil ||
			back != strings.ToValidUTF8(in, "\ufffd") && in != "bad\xff\xc3" {
			t.Errorf("%q became %s, which is read as %q (%v)", in, got, back, err)
		}
		if b := string(AppendEscaped(nil, []byte(in))); `"`+b+`"` != got {
			t.Errorf("bytes of %q became %s", in, b)
		}
	}
}

func BenchmarkDelta(b *testing.B) {
	o := NewOutbox(io.Discard)
	for i := range b.N {
		put(o, "s", fmt.Sprint(i%3), "token ")
	}
	o.Close()
	<-o.Done()
}
