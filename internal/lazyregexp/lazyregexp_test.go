package lazyregexp

import "testing"

func TestNew(t *testing.T) {
	re := New(`^a+$`)
	if first := re(); !first.MatchString("aa") || re() != first {
		t.Error("it is not compiled once")
	}
	defer func() {
		if recover() == nil {
			t.Error("a faulty expression does not panic at its use")
		}
	}()
	New(`(`)()
}
