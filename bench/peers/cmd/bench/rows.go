package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// all takes every row of one program. It is long because the rows follow each other on one home folder and, most of
// them, on one connection: each meets what those before it left.
func (b *bench) all() {
	r, o := b.res, b.opt
	b.env.reset()
	home := filepath.Join(b.env.Work, "home", b.p.Name())
	if err := os.RemoveAll(home); err != nil {
		b.fail("home", err)
		return
	}
	os.MkdirAll(home, 0o755)

	// First start ever, with an empty home; then cold starts.
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
			c.Drain(time.Second) // let it write what it writes once
			c.Stop()
			continue
		}
		init, ready = append(init, in), append(ready, re)
		first = append(first, ms(t.Sent, t.Recs[0].Arrive))
		total = append(total, ms(c.spawn, t.Recs[0].Arrive))
		c.Drain(300 * time.Millisecond)
		exit = append(exit, c.Stop())
	}
	r.ColdInit, r.ColdReady, r.ColdFirstRequest, r.SpawnToRequest, r.Exit = stat(init), stat(ready), stat(first), stat(total), stat(exit)
	log.Printf("%s: cold start measured", b.p.Name())

	// One long-lived process for the rest.
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
	var req, tail, ft []float64
	for i := 0; i <= o.warm; i++ {
		t, _, err := b.turn(c, "STREAM n=5 size=32 delay_us=0", 60*time.Second, 0)
		if err != nil {
			b.fail("warm prompt", err)
			c.Stop()
			return
		}
		c.Drain(100 * time.Millisecond)
		if i == 0 {
			continue
		}
		req, tail = append(req, ms(t.Sent, t.Recs[0].Arrive)), append(tail, ms(t.Recs[0].End, t.Done))
		ft = append(ft, ms(t.Recs[0].First, t.FirstAt))
	}
	r.WarmRequest, r.WarmTail, r.FirstToken = stat(req), stat(tail), stat(ft)

	var pool, msgs, out, cpu []float64
	for i := 0; i < o.streams; i++ {
		cpu0 := cpuMS(pid)
		t, _, err := b.turn(c, fmt.Sprintf("STREAM n=%d size=%d delay_us=%d", o.n, o.size, o.delayUS), 90*time.Second, 0)
		if err != nil {
			b.fail("paced stream", err)
			c.Stop()
			return
		}
		c.Drain(300 * time.Millisecond)
		cpu = append(cpu, cpuMS(pid)-cpu0)
		r.Missing += o.n - len(t.Lat)
		if s := stat(t.Lat); s != nil {
			r.DeltaP50s, r.DeltaP99s = append(r.DeltaP50s, s.P50), append(r.DeltaP99s, s.P99)
		}
		pool, msgs, out = append(pool, t.Lat...), append(msgs, float64(t.Msgs)), append(out, float64(t.Bytes))
		if i == 0 {
			time.Sleep(500 * time.Millisecond)
			m := memory(pid)
			r.AfterStream = &m
		}
	}
	r.DeltaLatency, r.DeltaMessages, r.StdoutBytes, r.StreamCPU = stat(pool), stat(msgs), stat(out), stat(cpu)

	var rate, blat []float64
	for i := 0; i < o.bursts; i++ {
		t, last, err := b.turn(c, fmt.Sprintf("STREAM n=%d size=%d delay_us=0", o.n, o.size), 90*time.Second, 0)
		if err != nil {
			b.fail("unpaced stream", err)
			break
		}
		c.Drain(200 * time.Millisecond)
		r.Missing += o.n - len(t.Lat)
		if d := ms(t.Recs[0].First, last); d > 0 {
			rate = append(rate, float64(len(t.Lat))/d*1000)
		}
		blat = append(blat, t.Lat...)
	}
	r.Throughput, r.BurstLatency = stat(rate), stat(blat)
	m2 := memory(pid)
	r.AfterAll = &m2
	log.Printf("%s: streams measured", b.p.Name())
	c.Stop()

	// Tools, in a fresh session.
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
			t, _, err := b.turn(c, fmt.Sprintf("TOOL %s rounds=%d", kind, o.rounds), 120*time.Second, 0)
			if err != nil {
				b.fail("tool "+kind, err)
				break
			}
			c.Drain(100 * time.Millisecond)
			for j := 1; j < len(t.Recs); j++ {
				gap = append(gap, ms(t.Recs[j-1].End, t.Recs[j].Arrive))
			}
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
	log.Printf("%s: tools measured", b.p.Name())

	// Aborts.
	var done, gone []float64
	for i := 0; i < o.aborts; i++ {
		t, at, err := b.turn(c, "STREAM n=5000 size=32 delay_us=2000", 30*time.Second, 200*time.Millisecond)
		if err != nil {
			b.fail("abort", err)
			break
		}
		done = append(done, ms(at, t.Done))
		if g := t.Recs[len(t.Recs)-1].Gone; g > 0 {
			gone = append(gone, ms(at, g))
		}
		c.Drain(300 * time.Millisecond)
	}
	r.AbortDone, r.AbortGone = stat(done), stat(gone)
	c.Stop()

	if o.crowds {
		b.crowds(home)
		log.Printf("%s: many sessions measured", b.p.Name())
	}
	if o.turns > 0 {
		r.Growth, r.GrowthTurns, r.GrowthDisk, r.AfterTurns = b.growth(home, o.turns)
	}
	if _, own := b.p.(*agentlsp); own && o.long > 0 {
		r.Long, _, _, _ = b.growth(home, o.long)
	}
}

// growth measures a conversation of so many turns in a fresh session: its four stretches, the turns that were run, what
// the home folder grew by, and the memory after them.
func (b *bench) growth(home string, turns int) (rows []GrowthRow, ran int, disk int64, after *Memory) {
	c, _, _, err := b.open(home)
	if err != nil {
		b.fail("start", err)
		return
	}
	defer c.Stop()
	disk0 := diskUse(home)
	var hs, ts []float64
	var sizes []int
	end := time.Now().Add(4 * time.Minute)
	for i := 0; i < turns && time.Now().Before(end); i++ {
		t, _, err := b.turn(c, "STREAM n=20 size=200 delay_us=0", 60*time.Second, 0)
		if err != nil {
			b.fail(fmt.Sprintf("growth turn %d", i+1), err)
			break
		}
		hs, ts = append(hs, ms(t.Sent, t.Recs[0].Arrive)), append(ts, ms(t.Recs[0].End, t.Done))
		sizes = append(sizes, t.Recs[len(t.Recs)-1].Bytes)
		if i%20 == 0 {
			b.env.reset()
		}
	}
	if n := len(hs); n >= 21 {
		for _, from := range []int{1, n / 3, 2 * n / 3, n - 20} { // the first turn is left out: it starts things up
			to := from + 20
			if k := len(rows); to > n || k > 0 && from < rows[k-1].To {
				continue
			}
			rows = append(rows, GrowthRow{from + 1, to, stat(hs[from:to]).P50, stat(ts[from:to]).P50, sizes[to-1]})
		}
	}
	m := memory(c.cmd.Process.Pid)
	return rows, len(hs), diskUse(home) - disk0, &m
}
