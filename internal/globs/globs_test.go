package globs

import (
	"strings"
	"testing"
)

func TestAlternatives(t *testing.T) {
	for pattern, want := range map[string]int{
		"a": 1, "{a}": 1, "{a,b}": 2, "{a,b}{c,d,e}": 6, "{a,{b,c}}": 3, "{a,{b,c}{d,e}}": 5,
		`\{a,b}`: 1, "[{,]x": 1, "{[,],b}": 2, "{a,}": 2,
		strings.Repeat("{a,b}", 8):                     256,
		strings.Repeat("{a,b}", 9):                     MaxAlternatives + 1,
		"{" + strings.Repeat("{a,b}{c,d},", 80) + "x}": MaxAlternatives + 1,
		strings.Repeat("{a,{b,{c,d}}}", 5):             MaxAlternatives + 1,
	} {
		if got := Alternatives(pattern); got != want {
			t.Errorf("%.60s: %d, want %d", pattern, got, want)
		}
	}
}
