package main

import (
	"fmt"
	"slices"
	"strings"
)

// closeEnough is the highest accepted ratio of an ACP figure to an LSP figure.
const closeEnough = 1.10

// frontEndPair contains the figures of one row for both front ends, one per run.
type frontEndPair struct {
	lsp, acp []float64
	// pairs contains ratios of the ACP figure to the LSP figure, one for each pair of consecutive
	// measurements.
	pairs []float64
}

// inPairs contains the rows that consist of few large samples, such as complete groups. Load on the
// machine affects these samples more than the choice of protocol, and lasts longer than one sample.
// Each sample is therefore compared with its neighbor.
var inPairs = map[string]func(p *peer) []float64{
	"added latency per delta, p99":      func(p *peer) []float64 { return p.DeltaP99s },
	"10 parallel sessions: delta, p99":  func(p *peer) []float64 { return p.groupP99s(10) },
	"100 parallel sessions: delta, p99": func(p *peer) []float64 { return p.groupP99s(100) },
}

func (p *peer) groupP99s(n int) []float64 {
	if c := p.group(n); c != nil {
		return c.P99s
	}
	return nil
}

// pair adds the ratios of a run's consecutive measurements.
func (p *frontEndPair) pair(r *row, lsp, acp *peer) {
	figures := inPairs[r.name]
	if figures == nil {
		return
	}
	one, other := figures(lsp), figures(acp)
	if len(one) != len(other) {
		return // one of the two measurements was stopped
	}
	for i := range one {
		p.pairs = append(p.pairs, other[i]/one[i])
	}
}

// frontEndsOf collects a row's figures over all runs. It skips a run in which one of the two
// figures is missing.
func frontEndsOf(r *row, runs []*results) (p frontEndPair) {
	for _, run := range runs {
		var lsp, other *peer
		for i := range run.Peers {
			switch run.Peers[i].Name {
			case ours:
				lsp = &run.Peers[i]
			case acp:
				other = &run.Peers[i]
			}
		}
		if lsp == nil || other == nil || r.value(lsp) <= 0 || r.value(other) <= 0 {
			continue
		}
		p.lsp, p.acp = append(p.lsp, r.value(lsp)), append(p.acp, r.value(other))
		p.pair(r, lsp, other)
	}
	return p
}

// costs returns the sorted ratios of the ACP figure to the LSP figure, one per run. Ratios are
// inverted for rows in which more is better. Both figures of a ratio come from the same run,
// because runs differ more than the protocols do.
func (p frontEndPair) costs(r *row) []float64 {
	list := make([]float64, len(p.lsp))
	for i := range list {
		if list[i] = p.acp[i] / p.lsp[i]; r.more {
			list[i] = 1 / list[i]
		}
	}
	slices.Sort(list)
	return list
}

const bothHead = `
## Both front ends

LSP and ACP were also compared without the other agents (runs: %d). The last run was measured at
%s. The figures are medians over the runs. The column "ACP's cost" contains
the ratio of the ACP figure to the LSP figure (for deltas per second, the inverse ratio): the median
over the runs, with the minimum and the maximum in parentheses. For times, the two front ends ran
alternately, prompt by prompt, in pairs of new processes. A p99 figure is the median over the
streams or groups. For a p99 figure, the ratio is the median over all consecutive pairs, with the
quartiles in parentheses.

| | LSP | ACP | ACP's cost |
|---|---:|---:|---:|
`

// writeFrontEnds compares the two front ends over several runs.
func writeFrontEnds(b *strings.Builder, runs []*results) {
	if len(runs) == 0 {
		return
	}
	fmt.Fprintf(b, bothHead, len(runs), strings.TrimSuffix(runs[len(runs)-1].When, "Z"))
	var beyond []string
	for i := range rows {
		r := &rows[i]
		p := frontEndsOf(r, runs)
		if len(p.lsp) == 0 {
			continue
		}
		costs := p.costs(r)
		cost, least, most := median(costs), costs[0], costs[len(costs)-1]
		if n := len(p.pairs); n > 0 {
			slices.Sort(p.pairs)
			cost, least, most = median(p.pairs), p.pairs[n/4], p.pairs[3*n/4]
		}
		fmt.Fprintf(b, "| %s | %s | %s | %.2f× (%.2f–%.2f) |\n",
			strings.TrimSuffix(r.name+", "+r.unit, ", "), number(median(p.lsp)),
			number(median(p.acp)), cost, least, most)
		if cost > closeEnough {
			beyond = append(beyond, fmt.Sprintf("%s (%.2f×)", r.name, cost))
		}
	}
	if len(beyond) == 0 {
		b.WriteString("\nIn no row does ACP cost more than 10 %.\n")
		return
	}
	fmt.Fprintf(b, "\nACP costs more than 10 %% in these rows: %s.\n", strings.Join(beyond, ", "))
}
