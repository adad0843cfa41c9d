package main

import (
	"strings"
	"testing"
)

// TestFrontEnds checks that front ends are compared run by run, both for rows in which higher
// values are better and for rows in which lower values are better.
func TestFrontEnds(t *testing.T) {
	run := func(lsp, other, many, few float64) *results {
		return &results{Peers: []peer{
			{Name: ours, ColdInit: &stat{lsp}, Throughput: &stat{many}},
			{Name: acp, ColdInit: &stat{other}, Throughput: &stat{few}}}}
	}
	var b strings.Builder
	writeFrontEnds(&b, []*results{run(10, 20, 2000, 1000), run(10, 10.5, 2000, 1000),
		run(11, 9, 3000, 1900), {Peers: []peer{{Name: ours, ColdInit: &stat{1}}}}})
	for _, part := range []string{
		"| spawn → `initialize` answered, ms | 10.0 | 10.5 | 1.05× (0.82–2.00) |",
		"| deltas per second, unpaced | 2000 | 1000 | 2.00× (1.58–2.00) |",
		"ACP costs more than 10 % in these rows: deltas per second, unpaced (2.00×).",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the section lacks %q:\n%s", part, b.String())
		}
	}
	b.Reset()
	if writeFrontEnds(&b, []*results{run(10, 10, 1000, 1000)}); !strings.Contains(b.String(),
		"In no row does ACP cost more than 10 %.") {
		t.Error(b.String())
	}
}

// TestFrontEndsInPairs checks that measurements of the two front ends that were taken one after the
// other are compared in pairs, and that the pairs of all complete runs are used.
func TestFrontEndsInPairs(t *testing.T) {
	run := func(lsp, other []float64) *results {
		groups := func(p99s []float64) []group {
			return []group{{Sessions: 100, Latency: &spread{1, 1, 9, 9}, Turn: &spread{1, 1, 1, 1},
				P99s: p99s}}
		}
		return &results{Peers: []peer{{Name: ours, Groups: groups(lsp)},
			{Name: acp, Groups: groups(other)}}}
	}
	var b strings.Builder
	// In this data, the machine was slow during the second run, and the third run lacks the second
	// measurement of one front end.
	writeFrontEnds(&b, []*results{run([]float64{4, 5, 4}, []float64{4.4, 5, 3.6}),
		run([]float64{40, 50}, []float64{60, 50}), run([]float64{4, 5}, []float64{9})})
	if want := "| 100 parallel sessions: delta, p99, ms | 5.00 | 9.00 | 1.00× (1.00–1.10) |"; !strings.Contains(b.String(), want) {
		t.Errorf("the section lacks %q:\n%s", want, b.String())
	}
}
