package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// home returns the program's home folder, which all its processes share.
func (b *bench) home() string { return filepath.Join(b.env.Work, "home", b.p.Name()) }

// all measures every row of one program. The function is long because the measurements use the same
// home folder and, in most cases, the same connection. Each measurement therefore depends on the
// earlier ones.
func (b *bench) all() {
	r, o := b.res, b.opt
	b.env.reset()
	home := b.home()
	if err := os.RemoveAll(home); err != nil {
		b.fail("home", err)
		return
	}
	os.MkdirAll(home, 0o755)

	// Measure the very first start with an empty home folder, and then cold starts.
	var init, ready, first, total, exit []float64
	for i := 0; i <= o.cold; i++ {
		c, in, re, err := b.open(home)
		if err != nil {
			b.fail("cold start", err)
			return
		}
		t, _, err := b.turn(c, "STREAM n=1 size=32 delay_us=0", 60*time.Second, 0)
		if err != nil {
			b.fail("cold prompt", err)
			c.Stop()
			return
		}
		if i == 0 {
			r.FirstEverReadyMS = round(re)
			r.RequestSize, r.Extra = t.Recs[0].Bytes, t.Extra
			// Wait until the peer has written the files that it writes only at its first start.
			c.Drain(time.Second)
			c.Stop()
			continue
		}
		init, ready = append(init, in), append(ready, re)
		first = append(first, ms(t.Sent, t.Recs[0].Arrive))
		total = append(total, ms(c.spawn, t.Recs[0].Arrive))
		c.Drain(300 * time.Millisecond)
		exit = append(exit, c.Stop())
	}
	r.ColdInit, r.ColdReady, r.ColdFirstRequest, r.SpawnToRequest, r.Exit = stat(init), stat(ready),
		stat(first), stat(total), stat(exit)
	log.Printf("%s: cold start measured", b.p.Name())

	// The remaining rows use one long-lived process.
	c, _, _, err := b.open(home)
	if err != nil {
		b.fail("start", err)
		return
	}
	pid := c.cmd.Process.Pid
	c.Drain(2 * time.Second)
	m := memory(pid)
	r.Idle = &m
	cpu0 := cpuMS(pid)
	time.Sleep(5 * time.Second)
	r.IdleCPU = (cpuMS(pid) - cpu0) * 2
	var warm samples
	for i := 0; i <= o.warm; i++ {
		s := &warm
		if i == 0 {
			s = new(samples)
		}
		if err := b.prompted(c, s); err != nil {
			b.fail("warm prompt", err)
			c.Stop()
			return
		}
		c.Drain(100 * time.Millisecond)
	}
	warm.turns(r)

	for i := 0; i < o.streams; i++ {
		if err := b.paced(c, b.opt.n, &warm); err != nil {
			b.fail("paced stream", err)
			c.Stop()
			return
		}
		if i == 0 {
			time.Sleep(500 * time.Millisecond)
			m := memory(pid)
			r.AfterStream = &m
		}
	}
	for i := 0; i < o.bursts; i++ {
		if err := b.unpaced(c, &warm); err != nil {
			b.fail("unpaced stream", err)
			break
		}
		c.Drain(200 * time.Millisecond)
	}
	warm.streams(r)
	m2 := memory(pid)
	r.AfterAll = &m2
	log.Printf("%s: streams measured", b.p.Name())
	c.Stop()

	// The tools are measured in a new session.
	if c, _, _, err = b.open(home); err != nil {
		b.fail("start", err)
		return
	}
	b.turn(c, "STREAM n=1 size=32 delay_us=0", 60*time.Second, 0)
	c.Drain(300 * time.Millisecond)
	r.ToolsWorked = true
	for _, kind := range []string{"read path=" + b.env.WS + "/a.txt", "shell cmd=true"} {
		var gap []float64
		by := ""
		for i := 0; i < o.toolTurns; i++ {
			t, _, err := b.turn(c, fmt.Sprintf("TOOL %s rounds=%d", kind, o.rounds),
				120*time.Second, 0)
			if err != nil {
				b.fail("tool "+kind, err)
				break
			}
			c.Drain(100 * time.Millisecond)
			gap = append(gap, t.gaps()...)
			by = t.Recs[0].Tool
			if strings.HasPrefix(kind, "read") {
				if len(t.Recs) < 2 || !strings.Contains(t.Recs[1].LastTool, "MAGIC-4711") {
					r.ToolsWorked = false
				}
			}
			if len(t.Recs) != o.rounds+1 {
				r.ToolsWorked = false
			}
			if i == 0 && len(t.Recs) > 1 {
				r.ToolSamples = append(r.ToolSamples, kind[:5]+": "+t.Recs[1].LastTool)
			}
		}
		if strings.HasPrefix(kind, "read") {
			r.ToolRead, r.ToolReadBy = stat(gap), by
		} else {
			r.ToolShell, r.ToolShellBy = stat(gap), by
		}
	}
	b.sandboxed(home)
	log.Printf("%s: tools measured", b.p.Name())

	// Aborts.
	for i := 0; i < o.aborts; i++ {
		if err := b.aborted(c, &warm); err != nil {
			b.fail("abort", err)
			break
		}
		c.Drain(300 * time.Millisecond)
	}
	warm.turns(r)
	c.Stop()

	if o.groups > 0 && o.pairs == 0 { // otherwise, the groups of the programs alternate
		groups(o.groups, b)
		log.Printf("%s: many sessions measured", b.p.Name())
	}
	if o.turns > 0 && o.pairs == 0 {
		grow(1, o.turns, b)
	}
	if _, own := b.p.(*agentlsp); own && o.long > 0 {
		g, err := b.conversation()
		if err != nil {
			b.fail("start", err)
			return
		}
		g.play(o.long)
		g.stop()
		r.Long = stretches([]*conversation{g})
	}
}

// conversation is a long conversation in a new session.
type conversation struct {
	b              *bench
	c              *Conn
	disk           int64 // size of the home folder before the conversation
	requests, ends []float64
	sizes          []int
	failed         bool
	grown          int64 // growth of the home folder in bytes
	after          *Memory
}

func (b *bench) conversation() (*conversation, error) {
	c, _, _, err := b.open(b.home())
	if err != nil {
		return nil, err
	}
	return &conversation{b: b, c: c, disk: diskUse(b.home())}, nil
}

// grow measures conversations with the given number of turns. times is the number of conversations
// that each program plays.
func grow(times, turns int, all ...*bench) {
	talks := make([][]*conversation, len(all))
	for range times {
		for i, b := range all {
			g, err := b.conversation()
			if err != nil {
				b.fail("start", err)
				return
			}
			talks[i] = append(talks[i], g)
		}
		byTurns(turns, talks)
	}
	for i, b := range all {
		last := talks[i][times-1]
		b.res.Growth, b.res.GrowthTurns = stretches(talks[i]), len(last.requests)
		b.res.GrowthDisk, b.res.AfterTurns = last.grown, last.after
	}
}

// byTurns plays the last conversation of each program. The programs alternate turn by turn.
func byTurns(turns int, talks [][]*conversation) {
	end := time.Now().Add(time.Duration(len(talks)) * 4 * time.Minute)
	for i := 0; i < turns && time.Now().Before(end); i++ {
		for k := range talks {
			of := talks[(i+k)%len(talks)]
			of[len(of)-1].turn(i)
		}
	}
	for _, of := range talks {
		of[len(of)-1].stop()
	}
}

// play plays the given number of turns, or as many as finish in four minutes.
func (g *conversation) play(turns int) {
	end := time.Now().Add(4 * time.Minute)
	for i := 0; i < turns && time.Now().Before(end); i++ {
		g.turn(i)
	}
}

// turn plays turn i, unless an earlier turn failed.
func (g *conversation) turn(i int) {
	if g.failed {
		return
	}
	t, _, err := g.b.turn(g.c, "STREAM n=20 size=200 delay_us=0", 60*time.Second, 0)
	if err != nil {
		g.b.fail(fmt.Sprintf("growth turn %d", i+1), err)
		g.failed = true
		return
	}
	g.requests, g.ends = append(g.requests, ms(t.Sent, t.Recs[0].Arrive)),
		append(g.ends, ms(t.Recs[0].End, t.Done))
	g.sizes = append(g.sizes, t.Recs[len(t.Recs)-1].Bytes)
	if i%20 == 0 {
		g.b.env.reset()
	}
}

// stop records the final memory and disk use of the program and ends it.
func (g *conversation) stop() {
	m := memory(g.c.cmd.Process.Pid)
	g.after, g.grown = &m, diskUse(g.b.home())-g.disk
	g.c.Stop()
}

// stretches returns the figures of up to four ranges of 20 turns. The ranges exclude the first
// turn, which includes start-up work.
func stretches(talks []*conversation) (rows []GrowthRow) {
	n := len(talks[0].requests)
	for _, g := range talks {
		n = min(n, len(g.requests))
	}
	if n < 21 {
		return nil
	}
	for _, from := range []int{1, n / 3, 2 * n / 3, n - 20} {
		to := from + 20
		if k := len(rows); to > n || k > 0 && from < rows[k-1].To {
			continue
		}
		var requests, ends []float64
		for _, g := range talks {
			requests, ends = append(requests, g.requests[from:to]...),
				append(ends, g.ends[from:to]...)
		}
		rows = append(rows, GrowthRow{from + 1, to, stat(requests).P50, stat(ends).P50,
			talks[0].sizes[to-1]})
	}
	return rows
}
