package main

import (
	"fmt"
	"log"
	"strings"
	"time"
)

// alternate measures the timed rows of two programs in pairs of fresh processes. The two processes
// of a pair take turns, so that load on the machine affects both programs alike. In the measurement
// of parallel sessions, whole groups take turns.
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
	if one.opt.groups > 0 {
		groups(pairs*one.opt.groups, one, other)
	}
	log.Printf("%s and %s: took turns in %d pairs of processes", one.p.Name(), other.p.Name(),
		pairs)
}

// kinds are the kinds of turns that one process plays. Kinds that yield only one short time per
// turn occur more often, because the machine's noise is larger than the difference between the
// programs.
var kinds = strings.Fields(
	`prompt prompt read prompt shell read prompt abort burst prompt abort prompt shell burst prompt stream read prompt abort
stream shell prompt abort burst stream prompt abort stream shell prompt abort prompt stream burst abort prompt stream read prompt abort prompt prompt`,
)

// pacedDeltas is the number of deltas in a paced stream. The streams are shorter and more numerous
// than when a program is measured alone, so that the programs alternate at short intervals.
const pacedDeltas = 500

// starts is the number of processes of each program that are started per pair to measure the start.
const starts = 4

// playPair starts both programs several times. The last process of each program plays the turns,
// and the earlier processes only measure the start. The programs take turns going first.
func playPair(both []*bench, all []samples, pair int) error {
	for start := range starts - 1 {
		for n := range both {
			i := (n + pair + start) % len(both)
			c, err := both[i].begin(&all[i])
			if err != nil {
				return fmt.Errorf("%s: %w", both[i].p.Name(), err)
			}
			c.Stop()
		}
	}
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

// sample plays one turn and records its figures.
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
		return b.paced(c, pacedDeltas, s)
	case "burst":
		return b.unpaced(c, s)
	}
	return b.prompted(c, s)
}

// rounds plays a turn with tools and records the times between the model's answers and the next
// requests.
func (b *bench) rounds(c *Conn, tool string, gaps *[]float64) error {
	t, _, err := b.turn(c, fmt.Sprintf("TOOL %s rounds=%d", tool, b.opt.rounds), 120*time.Second, 0)
	if err != nil {
		return err
	}
	*gaps = append(*gaps, t.gaps()...)
	return nil
}
