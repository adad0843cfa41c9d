package policy

import (
	"strings"
	"testing"
)

// BenchmarkClassify10KB reads a script of the size that the contract names.
func BenchmarkClassify10KB(b *testing.B) {
	script := strings.Repeat("for f in $(git ls-files '*.go'); do grep -n \"TODO\" \"$f\" | head -5 >> out.txt; done\n", 130)[:10240]
	script = script[:strings.LastIndexByte(script, '\n')]
	b.SetBytes(int64(len(script)))
	for b.Loop() {
		Classify(script)
	}
}

// Reading a script costs in proportion to its length, whatever the machine is busy with: four times
// the text, about four times the allocations. The time is the benchmark's.
func TestClassifyIsLinear(t *testing.T) {
	cost := func(repeats int) float64 {
		script := strings.Repeat("git log --oneline | grep -v \"$x\" && ls *.go; ", repeats) +
			"true"
		return testing.AllocsPerRun(3, func() { Classify(script) })
	}
	if small, large := cost(60), cost(240); large > 5*small {
		t.Errorf("%.0f allocations for a script, %.0f for four of it", small, large)
	}
}
