package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Cached is the cost of a tool conversation over the Messages API. The token counts begin with the
// third request.
type Cached struct {
	Requests int     `json:"requests"` // number of requests in the complete turn
	Input    int     `json:"input"`    // tokens of all input
	Read     int     `json:"read"`     // input tokens that were read from the cache
	Write    int     `json:"write"`
	Share    float64 `json:"share_pct"` // Read as a share of Input, in percent
	// Billed is the cost of the complete turn, expressed in tokens of plain input. A token that is
	// written to the cache counts as 1.25 tokens, and a token that is read from the cache counts as
	// 0.1.
	Billed int `json:"billed"`
}

// cached plays two conversations over the Messages API. In the first one, a command prints the
// files, so that each program gets the same results. In the second one, the program's own tool
// reads the files, so the format of the results differs between programs.
func (b *bench) cached(rounds int) {
	if _, ok := b.p.(anthropicPeer); !ok || b.p.Name() == "refdaemon" {
		return
	}
	b.env.Anthropic = true
	defer func() { b.env.Anthropic = false }()
	b.res.CachedShow = b.conversationOf("show", rounds)
	b.res.CachedRead = b.conversationOf("read", rounds)
}

// conversationOf plays one turn with the given number of tool calls of a kind, each for a different
// file. It returns nil if the turn fails.
func (b *bench) conversationOf(kind string, rounds int) *Cached {
	b.env.reset()
	home := b.home()
	if err := os.RemoveAll(home); err != nil {
		b.fail("home", err)
		return nil
	}
	os.MkdirAll(home, 0o755)
	for i := range rounds {
		line := fmt.Sprintf("line of file %d\n", i)
		text := fmt.Sprintf("MAGIC-%d\n", i) + strings.Repeat(line, 100)
		must(writeFile(fmt.Sprintf("%s/f%d.txt", b.env.WS, i), text))
	}
	c, _, _, err := b.open(home)
	if err != nil {
		b.fail("cached share", err)
		return nil
	}
	defer c.Stop()
	script := fmt.Sprintf("TOOL %s path=%s/f{n}.txt rounds=%d", kind, b.env.WS, rounds)
	t, _, err := b.turn(c, script, 5*time.Minute, 0)
	if err != nil {
		b.fail("cached share", err)
		return nil
	}
	r := &Cached{Requests: len(t.Recs)}
	for i, rec := range t.Recs {
		r.Billed += rec.Input + rec.Write*5/4 + rec.CacheRead/10
		if i > 0 && !strings.Contains(rec.LastTool, fmt.Sprintf("MAGIC-%d", i-1)) {
			b.fail("cached share", fmt.Errorf("request %d has the result %q", i+1, rec.LastTool))
			return nil
		}
		if i >= 2 {
			r.Input += rec.Input + rec.Write + rec.CacheRead
			r.Read += rec.CacheRead
			r.Write += rec.Write
		}
	}
	if r.Input > 0 {
		r.Share = round(100 * float64(r.Read) / float64(r.Input))
	}
	return r
}

// anthropicPeer is a program with an adapter for the Messages API. Prepare selects the adapter if
// Env.Anthropic is set.
type anthropicPeer interface{ anthropic() }

func (*pi) anthropic()       {}
func (*agentlsp) anthropic() {}

// acpAnthropic is an ACP peer with an adapter for the Messages API.
type acpAnthropic struct{ *acp }

func (acpAnthropic) anthropic() {}
