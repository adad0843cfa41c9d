package main

import (
	"fmt"
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

// cost is how many times the LSP face's the ACP face's median is; where more is better, the other way round.
func (p facePair) cost(r *row) float64 {
	if r.more {
		return median(p.lsp) / median(p.acp)
	}
	return median(p.acp) / median(p.lsp)
}

// writeFaces compares the two faces by their medians over several runs, for one run differs from the next by more
// than the faces do.
func writeFaces(b *strings.Builder, runs []*results) {
	if len(runs) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Both faces\n\nLSP and ACP in %d more runs without the rivals, the medians of the runs:\n\n| | LSP | ACP | ACP's cost |\n|---|---:|---:|---:|\n", len(runs))
	var beyond []string
	for i := range rows {
		r := &rows[i]
		p := facesOf(r, runs)
		if len(p.lsp) == 0 {
			continue
		}
		cost := p.cost(r)
		fmt.Fprintf(b, "| %s | %s | %s | %.2f× |\n", strings.TrimSuffix(r.name+", "+r.unit, ", "), number(median(p.lsp)), number(median(p.acp)), cost)
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
