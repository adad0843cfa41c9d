package sandbox

import (
	"strings"
	"testing"
)

// TestChooseFallsBack checks that choose skips the kinds of sandbox that a system does not support,
// and returns all reasons.
func TestChooseFallsBack(t *testing.T) {
	for lacking, want := range []Kind{Own, Bubblewrap, Namespace, Landlock, None} {
		var all []probe
		reasons := []string{
			"the container forbids user namespaces",
			"bubblewrap is not installed",
			"unshare is forbidden",
			"the kernel does not support Landlock",
		}
		for i, kind := range []Kind{Own, Bubblewrap, Namespace, Landlock} {
			all = append(all, probe{kind, func() (Support, string) {
				if i < lacking {
					return Support{}, reasons[i]
				}
				return Support{ABI: 7}, ""
			}})
		}
		got := choose(all)
		if why := strings.Join(reasons[:lacking], "; "); got.Kind != want || got.Why != why {
			t.Errorf(
				"without the first %d: got %s (%s), want %s (%s)",
				lacking,
				got.Kind,
				got.Why,
				want,
				why,
			)
		}
		if line := got.Describe(); lacking > 0 && !strings.Contains(line, reasons[0]) {
			t.Errorf("%q does not say why the best sandbox is missing", line)
		}
	}
}
