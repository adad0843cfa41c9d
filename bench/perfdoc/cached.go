package main

import (
	"fmt"
	"strings"
)

// cached is the cost of a tool conversation over the Messages API.
type cached struct {
	Requests int
	// Share is the share of the input that was read from the cache, from the third request on.
	Share  float64 `json:"share_pct"`
	Billed int     // cost of the whole turn, in tokens of plain input
}

// writeCached writes the cost of a conversation on an endpoint that bills by prefix, for the
// programs that have an adapter for the Messages API.
func writeCached(b *strings.Builder, r *results) {
	var of []*peer
	for i := range r.Peers {
		if p := &r.Peers[i]; p.CachedShow != nil && p.CachedRead != nil {
			of = append(of, p)
		}
	}
	if len(of) == 0 {
		return
	}
	fmt.Fprintf(b, cachedHead, of[0].CachedShow.Requests, strings.TrimSuffix(r.When, "Z"),
		r.Machine)
	for _, p := range of {
		b.WriteString(" " + strings.TrimSpace(p.Name+" "+version(p)) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(of)) + "\n")
	for _, row := range []struct {
		name  string
		value func(*peer) string
	}{
		{"same results: cached share, %", share(func(p *peer) *cached { return p.CachedShow })},
		{"same results: billed tokens", billed(func(p *peer) *cached { return p.CachedShow })},
		{"own tool: cached share, %", share(func(p *peer) *cached { return p.CachedRead })},
		{"own tool: billed tokens", billed(func(p *peer) *cached { return p.CachedRead })},
	} {
		b.WriteString("| " + row.name + " |")
		for _, p := range of {
			b.WriteString(" " + row.value(p) + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString(cachedTail)
}

func share(of func(*peer) *cached) func(*peer) string {
	return func(p *peer) string { return number(of(p).Share) }
}

func billed(of func(*peer) *cached) func(*peer) string {
	return func(p *peer) string { return fmt.Sprint(of(p).Billed) }
}

const cachedHead = `
## Prompt cache

The table shows a turn of %d requests over Anthropic's Messages API, with a mock server that bills
according to the cached prefix. The figures were measured at %s on
%s.

| |`

const cachedTail = `
In the first two rows, a command prints each file, so all programs send the same results. In the
last two rows, each program's own tool shows the file. agent-lsp and opencode add line numbers, and
pi does not. [bench/peers](../../bench/peers/README.md) explains how the mock server bills, and how
much the line numbers cost.
`
