package main

import (
	"fmt"
	"slices"
	"strings"
)

// closeEnough is how much more than the LSP face the ACP face may cost on a row.
const closeEnough = 1.10

// facePair holds what each run measured of one row, both faces of one run side by side.
type facePair struct{ lsp, acp []float64 }

// facesOf collects a row's figures over all runs. A run that lacks one of the two counts for neither.
func facesOf(r *row, runs []*results) (p facePair) {
	for _, run := range runs {
		var lsp, other float64
		for i := range run.Peers {
			switch run.Peers[i].Name {
			case ours:
				lsp = r.value(&run.Peers[i])
			case acp:
				other = r.value(&run.Peers[i])
			}
		}
		if lsp > 0 && other > 0 {
			p.lsp, p.acp = append(p.lsp, lsp), append(p.acp, other)
		}
	}
	return p
}

// costs are how many times the LSP face's figure the ACP face's is, in each run, sorted; where more is better, the other
// way round. Both sides of one come from one run, because runs differ more than the faces do.
func (p facePair) costs(r *row) []float64 {
	list := make([]float64, len(p.lsp))
	for i := range list {
		if list[i] = p.acp[i] / p.lsp[i]; r.more {
			list[i] = 1 / list[i]
		}
	}
	slices.Sort(list)
	return list
}

// writeFaces compares the two faces over several runs.
func writeFaces(b *strings.Builder, runs []*results) {
	if len(runs) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Both faces\n\nLSP and ACP in %d more runs without the rivals, medians over the runs; the cost is the median of the runs' own, with the least and the most. For all rows of time the faces took turns, prompt by prompt, in pairs of fresh processes; a p99 is the median of the streams' own, or of the crowds':\n\n| | LSP | ACP | ACP's cost |\n|---|---:|---:|---:|\n", len(runs))
	var beyond []string
	for i := range rows {
		r := &rows[i]
		p := facesOf(r, runs)
		if len(p.lsp) == 0 {
			continue
		}
		costs := p.costs(r)
		cost := median(costs)
		fmt.Fprintf(b, "| %s | %s | %s | %.2f× (%.2f–%.2f) |\n", strings.TrimSuffix(r.name+", "+r.unit, ", "), number(median(p.lsp)), number(median(p.acp)), cost, costs[0], costs[len(costs)-1])
		if cost > closeEnough {
			beyond = append(beyond, fmt.Sprintf("%s (%.2f×)", r.name, cost))
		}
	}
	if len(beyond) == 0 {
		b.WriteString("\nEvery row is within 10 %.\n")
		return
	}
	fmt.Fprintf(b, "\nBeyond 10 %%: %s.\n", strings.Join(beyond, ", "))
}
