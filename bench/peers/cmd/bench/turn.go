package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Turn is one prompt and its result.
type Turn struct {
	Sent, Done int64
	Lat        []float64 // latency of each delta in ms
	FirstAt    int64
	LastAt     int64
	Msgs       int
	Bytes      int64
	Recs       []Record // the mock's records, without title requests
	Extra      int
	Failed     string
}

// turn plays one prompt until the turn ends. If abortAfter is positive, turn aborts the turn that
// long after the first delta.
func (b *bench) turn(c *Conn, script string, timeout,
	abortAfter time.Duration) (*Turn, int64, error) {
	id := b.id()
	t := &Turn{}
	start := c.bytes
	var err error
	for try := 0; ; try++ {
		t.Sent, err = b.p.Prompt(c, script+" id="+id)
		if err != nil {
			return t, 0, err
		}
		err = b.follow(c, t, timeout, abortAfter)
		if err == nil && t.Failed != "" && try < 20 &&
			strings.Contains(t.Failed, "already processing") {
			time.Sleep(5 * time.Millisecond)
			t.Failed = ""
			continue
		}
		break
	}
	t.Bytes = c.bytes - start
	// The mock records the end of a request just after its last write.
	for wait := 0; wait < 20; wait++ {
		t.Recs, t.Extra = nil, 0
		open := false
		for _, r := range b.env.records(id) {
			if r.Kind == "title" {
				t.Extra++
				continue
			}
			open = open || (r.End == 0 && r.Gone == 0)
			t.Recs = append(t.Recs, r)
		}
		if !open {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err == nil && t.Failed != "" {
		err = errors.New(t.Failed)
	}
	if err == nil && len(t.Recs) == 0 {
		err = errors.New("no request reached the model server")
	}
	if err == nil && abortAfter == 0 {
		// A driver that mistakes another message for the end of a turn must not appear fast.
		if last := t.Recs[len(t.Recs)-1]; last.End == 0 || t.Done < last.End-20e6 {
			err = errors.New("the turn was said to be over before the model server had ended its answer")
		}
	}
	return t, t.LastAt, err
}

func (b *bench) follow(c *Conn, t *Turn, timeout, abortAfter time.Duration) error {
	deadline := time.Now().Add(timeout)
	var buf []byte
	aborted := abortAfter == 0
	var abortAt time.Time
	for {
		d := deadline
		if !aborted && !abortAt.IsZero() {
			if !time.Now().Before(abortAt) {
				at, err := b.p.Abort(c)
				if err != nil {
					return err
				}
				aborted, t.LastAt = true, at
			} else {
				d = abortAt
			}
		}
		m, err := c.Next(d)
		if err == errTimeout && d.Before(deadline) {
			continue
		}
		if err != nil {
			return err
		}
		ev := b.p.Read(c, m)
		switch ev.Kind {
		case evDone:
			t.Done = m.At
			return nil
		case evFail:
			t.Done, t.Failed = m.At, ev.Text
			if abortAfter > 0 {
				t.Failed = "" // some peers end an aborted turn with an error
			}
			return nil
		case evDelta:
			t.Msgs++
			if t.FirstAt == 0 {
				t.FirstAt = m.At
				if abortAfter > 0 {
					abortAt = time.Now().Add(abortAfter)
				}
			}
			if abortAfter == 0 {
				t.LastAt = m.At
			}
			buf = append(buf, ev.Text...)
			end := 0
			for _, h := range token.FindAllSubmatchIndex(buf, -1) {
				ns, _ := strconv.ParseInt(string(buf[h[2]:h[3]]), 10, 64)
				t.Lat = append(t.Lat, float64(m.At-ns)/1e6)
				end = h[1]
			}
			if len(buf)-end > 21 {
				end = len(buf) - 21 // 21 bytes can contain only the beginning of a token
			}
			buf = append(buf[:0], buf[end:]...)
		}
	}
}

func ms(a, b int64) float64 { return float64(b-a) / 1e6 }

// samples contains the figures of one program's starts, turns and streams.
type samples struct {
	init, cold, request, tail, first, read, shell, done, gone []float64

	latency, messages, bytes, cpu, p50s, p99s []float64 // samples from paced streams
	rate, burst                               []float64 // samples from unpaced streams
	missing                                   int
}

// turns writes the rows of prompts and aborts.
func (s *samples) turns(r *Result) {
	r.WarmRequest, r.WarmTail, r.FirstToken = stat(s.request), stat(s.tail), stat(s.first)
	r.AbortDone, r.AbortGone = stat(s.done), stat(s.gone)
}

// streams writes the rows of streams.
func (s *samples) streams(r *Result) {
	r.DeltaLatency, r.DeltaMessages, r.StdoutBytes, r.StreamCPU = stat(s.latency), stat(s.messages),
		stat(s.bytes), stat(s.cpu)
	r.DeltaP50s, r.DeltaP99s = s.p50s, s.p99s
	r.Throughput, r.BurstLatency = stat(s.rate), stat(s.burst)
	r.Missing += s.missing
}

// paced plays a turn with n deltas that the mock sends at intervals.
func (b *bench) paced(c *Conn, n int, s *samples) error {
	cpu0 := cpuMS(c.cmd.Process.Pid)
	t, _, err := b.turn(c, fmt.Sprintf("STREAM n=%d size=%d delay_us=%d", n, b.opt.size,
		b.opt.delayUS), 90*time.Second, 0)
	if err != nil {
		return err
	}
	c.Drain(300 * time.Millisecond)
	s.cpu = append(s.cpu, cpuMS(c.cmd.Process.Pid)-cpu0)
	s.missing += n - len(t.Lat)
	if l := stat(t.Lat); l != nil {
		s.p50s, s.p99s = append(s.p50s, l.P50), append(s.p99s, l.P99)
	}
	s.latency = append(s.latency, t.Lat...)
	s.messages, s.bytes = append(s.messages, float64(t.Msgs)), append(s.bytes, float64(t.Bytes))
	return nil
}

// unpaced plays a turn whose deltas the mock sends as fast as the peer reads them.
func (b *bench) unpaced(c *Conn, s *samples) error {
	t, last, err := b.turn(c, fmt.Sprintf("STREAM n=%d size=%d delay_us=0", b.opt.n, b.opt.size),
		90*time.Second, 0)
	if err != nil {
		return err
	}
	s.missing += b.opt.n - len(t.Lat)
	if d := ms(t.Recs[0].First, last); d > 0 {
		s.rate = append(s.rate, float64(len(t.Lat))/d*1000)
	}
	s.burst = append(s.burst, t.Lat...)
	return nil
}

// prompted plays a short turn.
func (b *bench) prompted(c *Conn, s *samples) error {
	t, _, err := b.turn(c, "STREAM n=5 size=32 delay_us=0", 60*time.Second, 0)
	if err != nil {
		return err
	}
	s.request, s.tail = append(s.request, ms(t.Sent, t.Recs[0].Arrive)),
		append(s.tail, ms(t.Recs[0].End, t.Done))
	s.first = append(s.first, ms(t.Recs[0].First, t.FirstAt))
	return nil
}

// aborted plays a turn and aborts it.
func (b *bench) aborted(c *Conn, s *samples) error {
	t, at, err := b.turn(c, "STREAM n=5000 size=32 delay_us=2000", 30*time.Second,
		200*time.Millisecond)
	if err != nil {
		return err
	}
	s.done = append(s.done, ms(at, t.Done))
	if g := t.Recs[len(t.Recs)-1].Gone; g > 0 {
		s.gone = append(s.gone, ms(at, g))
	}
	return nil
}

// gaps returns the times between the model's answers and the next requests.
func (t *Turn) gaps() (out []float64) {
	for i := 1; i < len(t.Recs); i++ {
		out = append(out, ms(t.Recs[i-1].End, t.Recs[i].Arrive))
	}
	return out
}
