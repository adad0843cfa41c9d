package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// SessionGroup contains the measurements of many parallel sessions in one process. All sessions
// receive the same paced stream. The total number of deltas per second does not depend on the size
// of the group.
type SessionGroup struct {
	Sessions int   `json:"sessions"`
	Latency  *Stat `json:"delta_latency_ms"`
	// First is the time from sending the prompt to the first delta of its session.
	First *Stat `json:"first_delta_ms"`
	// Turn is the time from sending the prompt to the end of its turn. The spread shows how evenly
	// the sessions are served.
	Turn    *Stat   `json:"turn_ms"`
	Memory  *Memory `json:"memory"` // measured after the turns; the median over several groups
	Missing int     `json:"missing_deltas"`

	P99s []float64 `json:"delta_p99_ms_by_run,omitempty"` // one value for each group of this size
}

const (
	groupRate   = 5000 // deltas per second, for all sessions together
	groupDeltas = 10000
)

// single lists the peers that serve one session per process.
var single = map[string]bool{"pi": true, "refdaemon": true}

// sessionOf finds the session of a message.
var sessionOf = regexp.MustCompile(`"(?:sessionId|threadId|conversationId)":"([^"]+)"`)

// member is one session of a group.
type member struct {
	id         string
	sent, done int64
	first      int64
	lat        []float64
	text       []byte
}

// groupSamples contains the figures of one or several groups of the same size.
type groupSamples struct {
	lat, first, turn []float64
	p99s             []float64 // 99th percentile of the deltas' latency, one per group
	memory           []Memory  // memory after each group
	missing          int
}

// group measures n parallel sessions in a separate process.
func (b *bench) group(home string, n int, s *groupSamples) error {
	c, _, _, err := b.open(home)
	if err != nil {
		return err
	}
	defer c.Stop()
	all, err := b.gather(c, n)
	if err != nil {
		return err
	}
	pending := map[int]*member{}
	script := fmt.Sprintf("STREAM n=%d size=%d delay_us=%d id=%s", groupDeltas/n, b.opt.size,
		1_000_000*n/groupRate, b.id())
	for _, m := range all {
		c.session = m.id
		if m.sent, err = b.p.Prompt(c, script); err != nil {
			return err
		}
		pending[c.pending] = m
	}
	if err := b.watch(c, all, pending); err != nil {
		return err
	}
	s.add(c, all)
	return nil
}

// gather opens n sessions and plays one short turn in each, so that the measurement excludes the
// start of the sessions.
func (b *bench) gather(c *Conn, n int) ([]*member, error) {
	all := []*member{{id: c.session}}
	for len(all) < n {
		if err := b.p.Session(c, b.env); err != nil {
			return nil, fmt.Errorf("session %d: %w", len(all)+1, err)
		}
		all = append(all, &member{id: c.session})
	}
	for _, m := range all {
		c.session = m.id
		if _, _, err := b.turn(c, "STREAM n=1 size=32 delay_us=0", 60*time.Second, 0); err != nil {
			return nil, err
		}
	}
	b.env.reset()
	return all, nil
}

// watch reads messages until every turn has ended.
func (b *bench) watch(c *Conn, all []*member, pending map[int]*member) error {
	byID := map[string]*member{}
	for _, m := range all {
		byID[m.id] = m
	}
	deadline := time.Now().Add(90 * time.Second)
	for left := len(all); left > 0; {
		m, err := c.Next(deadline)
		if err != nil {
			return fmt.Errorf("%d of %d turns had not ended: %w", left, len(all), err)
		}
		who := owner(c, m, byID, pending)
		switch ev := b.p.Read(c, m); {
		case ev.Kind == evFail:
			return fmt.Errorf("a turn failed: %s", ev.Text)
		case who == nil:
		case ev.Kind == evDone && who.done == 0:
			who.done = m.At
			left--
		case ev.Kind == evDelta:
			who.take(m.At, ev.Text)
		}
	}
	return nil
}

// owner returns the session that a message belongs to. A response belongs to the session whose
// prompt has the response's id.
func owner(c *Conn, m Msg, byID map[string]*member, pending map[int]*member) *member {
	if h := sessionOf.FindSubmatch(m.Data); h != nil {
		return byID[string(h[1])]
	}
	var r rpcMsg
	if json.Unmarshal(m.Data, &r) != nil || r.Method != "" {
		return nil
	}
	id, _ := strconv.Atoi(string(r.ID))
	if who := pending[id]; who != nil {
		c.pending = id // so that the peer's reader recognizes the response
		return who
	}
	return nil
}

func (m *member) take(at int64, text string) {
	if m.first == 0 {
		m.first = at
	}
	m.text = append(m.text, text...)
	end := 0
	for _, h := range token.FindAllSubmatchIndex(m.text, -1) {
		ns, _ := strconv.ParseInt(string(m.text[h[2]:h[3]]), 10, 64)
		m.lat = append(m.lat, float64(at-ns)/1e6)
		end = h[1]
	}
	m.text = append(m.text[:0], m.text[max(end, len(m.text)-21):]...)
}

func (s *groupSamples) add(c *Conn, all []*member) {
	var lat []float64
	for _, m := range all {
		lat, s.first, s.turn = append(lat, m.lat...), append(s.first, ms(m.sent, m.first)),
			append(s.turn, ms(m.sent, m.done))
		s.missing += groupDeltas/len(all) - len(m.lat)
	}
	if l := stat(lat); l != nil {
		s.p99s = append(s.p99s, l.P99)
	}
	s.lat = append(s.lat, lat...)
	s.memory = append(s.memory, memory(c.cmd.Process.Pid))
}

func (s *groupSamples) stat(n int) SessionGroup {
	slices.SortFunc(s.memory, func(a, b Memory) int { return cmp.Compare(a.RSS, b.RSS) })
	return SessionGroup{
		n,
		stat(s.lat),
		stat(s.first),
		stat(s.turn),
		&s.memory[len(s.memory)/2],
		s.missing,
		s.p99s,
	}
}

// groupSizes lists the numbers of sessions in a group.
var groupSizes = []int{10, 100}

// groups measures many parallel sessions of the programs that serve several per process. It
// measures the given number of groups of each size, and alternates between the programs.
func groups(times int, all ...*bench) {
	for _, n := range groupSizes {
		samples := make([]groupSamples, len(all))
		for k := range times * len(all) {
			i := (k + k/len(all)) % len(all) // a different program goes first in each round
			if b := all[i]; !single[b.p.Name()] {
				if err := b.group(b.home(), n, &samples[i]); err != nil {
					b.fail(fmt.Sprintf("%d sessions at once", n), err)
					return
				}
			}
		}
		for i, b := range all {
			if s := &samples[i]; len(s.lat) > 0 {
				b.res.Missing += s.missing
				b.res.Groups = append(b.res.Groups, s.stat(n))
			}
		}
	}
}
