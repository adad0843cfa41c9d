package policy

import (
	"strings"
	"testing"
)

// BenchmarkClassify10KB classifies a script of about 10 KB.
func BenchmarkClassify10KB(b *testing.B) {
	script := strings.Repeat("for f in $(git ls-files '*.go'); do grep -n \"TODO\" \"$f\" | head -5 >> out.txt; done\n", 130)[:10240]
	script = script[:strings.LastIndexByte(script, '\n')]
	b.SetBytes(int64(len(script)))
	for b.Loop() {
		Classify(script)
	}
}

// The cost of classifying a script is proportional to its length. A script that is four times as
// long needs about four times as many allocations, regardless of the machine's load.
func TestClassifyIsLinear(t *testing.T) {
	cost := func(repeats int) float64 {
		script := strings.Repeat("git log --oneline | grep -v \"$x\" && ls *.go; ", repeats) +
			"true"
		return testing.AllocsPerRun(3, func() { Classify(script) })
	}
	if small, large := cost(60), cost(240); large > 5*small {
		t.Errorf("%.0f allocations for a script, %.0f for one four times as long", small, large)
	}
}
