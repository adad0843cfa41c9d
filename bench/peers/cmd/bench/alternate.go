package main

import (
	"fmt"
	"log"
	"time"
)

// alternate takes the rows of time of two programs, turn by turn in the one and the other, in pairs of fresh processes:
// what the machine does meanwhile, and where it lets a process run, meets both alike. Crowds take turns as wholes.
func alternate(one, other *bench, pairs int) {
	both := []*bench{one, other}
	all := make([]samples, len(both))
	for pair := range pairs {
		one.env.reset()
		if err := playPair(both, all, pair); err != nil {
			one.fail("taking turns", err)
			return
		}
	}
	for i, b := range both {
		s, r := &all[i], b.res
		r.ColdInit, r.SpawnToRequest = stat(s.init), stat(s.cold)
		r.ToolRead, r.ToolShell = stat(s.read), stat(s.shell)
		s.turns(r)
		s.streams(r)
	}
	if one.opt.turns > 0 {
		grow(pairs, one.opt.turns, one, other)
	}
	if one.opt.crowds {
		crowds(pairs, one, other)
	}
	log.Printf("%s and %s: took turns in %d pairs of processes", one.p.Name(), other.p.Name(), pairs)
}

// kinds are the turns of one process.
var kinds = []string{"prompt", "prompt", "read", "shell", "abort", "burst", "abort", "prompt", "burst", "read", "shell", "abort", "burst", "stream", "abort", "prompt", "burst"}

// playPair starts both programs and lets them take turns; the one that goes first changes with each pair and each turn.
func playPair(both []*bench, all []samples, pair int) error {
	conns := make([]*Conn, len(both))
	for n := range both {
		i := (n + pair) % len(both)
		c, err := both[i].begin(&all[i])
		if err != nil {
			return fmt.Errorf("%s: %w", both[i].p.Name(), err)
		}
		defer c.Stop()
		conns[i] = c
	}
	for k, kind := range kinds {
		for n := range both {
			i := (n + pair + k) % len(both)
			if err := both[i].sample(conns[i], kind, &all[i]); err != nil {
				return fmt.Errorf("%s: %s: %w", both[i].p.Name(), kind, err)
			}
		}
	}
	return nil
}

// begin starts a program and plays its first turn.
func (b *bench) begin(s *samples) (*Conn, error) {
	c, init, _, err := b.open(b.home())
	if err != nil {
		return nil, err
	}
	t, _, err := b.turn(c, "STREAM n=1 size=32 delay_us=0", 60*time.Second, 0)
	if err != nil {
		c.Stop()
		return nil, err
	}
	s.init, s.cold = append(s.init, init), append(s.cold, ms(c.spawn, t.Recs[0].Arrive))
	c.Drain(100 * time.Millisecond)
	return c, nil
}

// sample plays one turn and notes its figures.
func (b *bench) sample(c *Conn, kind string, s *samples) error {
	defer c.Drain(100 * time.Millisecond)
	switch kind {
	case "read":
		return b.rounds(c, "read path="+b.env.WS+"/a.txt", &s.read)
	case "shell":
		return b.rounds(c, "shell cmd=true", &s.shell)
	case "abort":
		return b.aborted(c, s)
	case "stream":
		return b.paced(c, s)
	case "burst":
		return b.unpaced(c, s)
	}
	return b.prompted(c, s)
}

// rounds plays a turn with tools and notes what lies between the model's answers and the next requests.
func (b *bench) rounds(c *Conn, tool string, gaps *[]float64) error {
	t, _, err := b.turn(c, fmt.Sprintf("TOOL %s rounds=%d", tool, b.opt.rounds), 120*time.Second, 0)
	if err != nil {
		return err
	}
	*gaps = append(*gaps, t.gaps()...)
	return nil
}
