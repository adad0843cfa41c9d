package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Turn is one prompt and what came of it.
type Turn struct {
	Sent, Done int64
	Lat        []float64 // ms per delta
	FirstAt    int64
	LastAt     int64
	Msgs       int
	Bytes      int64
	Recs       []Record // without title requests
	Extra      int
	Failed     string
}

// turn runs one prompt to its end. abortAfter > 0 aborts it that long after the first delta.
func (b *bench) turn(c *Conn, script string, timeout, abortAfter time.Duration) (*Turn, int64, error) {
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
		if err == nil && t.Failed != "" && try < 20 && strings.Contains(t.Failed, "already processing") {
			time.Sleep(5 * time.Millisecond)
			t.Failed = ""
			continue
		}
		break
	}
	t.Bytes = c.bytes - start
	// The mock notes the end of a request just after its last write.
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
		// A driver that takes the wrong message for the end of a turn must not look fast.
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
				end = len(buf) - 21 // what is left can hold at most the start of a token
			}
			buf = append(buf[:0], buf[end:]...)
		}
	}
}

func ms(a, b int64) float64 { return float64(b-a) / 1e6 }
