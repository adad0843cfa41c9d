package lazyregexp

import "testing"

func TestNew(t *testing.T) {
	re := New(`^a+$`)
	if first := re(); !first.MatchString("aa") || re() != first {
		t.Error("the expression is compiled more than once")
	}
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression does not panic when it is used")
		}
	}()
	New(`(`)()
}
