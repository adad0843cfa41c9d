package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// sandboxer is a program that may have a sandbox for commands on Linux.
type sandboxer interface{ sandboxes() bool }

// thinking makes the model wait before each reply in the measurement of sandboxed commands. Real
// models take longer. A program may use this time to prepare the next sandbox.
const thinking = "delay_us=100000"

// sandboxed measures a command in the program's own sandbox, with a separate process of the
// program.
func (b *bench) sandboxed(home string) {
	if p, ok := b.p.(sandboxer); !ok || !p.sandboxes() {
		return
	}
	b.env.Sandboxed = true
	defer func() { b.env.Sandboxed = false }()
	c, _, _, err := b.open(home)
	if err != nil {
		b.fail("sandbox: start", err)
		return
	}
	defer c.Stop()
	if err := b.confined(c); err != nil {
		b.fail("sandbox", err)
		return
	}
	var gaps []float64
	for range b.opt.toolTurns {
		if err := b.rounds(c, "shell cmd=true "+thinking, &gaps); err != nil {
			b.fail("sandboxed command", err)
			return
		}
		c.Drain(100 * time.Millisecond)
	}
	b.res.ToolSandboxed = stat(gaps)
}

// confined lets the program run a command that writes one file inside the workspace and one
// outside. Only the file inside may exist afterwards.
func (b *bench) confined(c *Conn) error {
	inside := filepath.Join(b.env.WS, "inside-"+b.p.Name())
	outside := filepath.Join(b.env.Work, "outside-"+b.p.Name())
	probe := filepath.Join(b.env.WS, "probe.sh")
	defer func() {
		for _, f := range []string{inside, outside, probe} {
			os.Remove(f)
		}
	}()
	text := fmt.Sprintf("#!/bin/sh\necho > %s\necho > %s\n", inside, outside)
	if err := os.WriteFile(probe, []byte(text), 0o755); err != nil {
		return err
	}
	t, _, err := b.turn(c, "TOOL shell cmd="+probe+" rounds=1", 120*time.Second, 0)
	if err != nil {
		return err
	}
	c.Drain(300 * time.Millisecond)
	if fileSize(inside) == 0 {
		return fmt.Errorf("the command did not run: %s", t.Recs[len(t.Recs)-1].LastTool)
	}
	if fileSize(outside) != 0 {
		return errors.New("the command wrote outside the workspace")
	}
	return nil
}
