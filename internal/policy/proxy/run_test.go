package proxy

import (
	"context"
	"slices"
	"testing"
)

// An answer applies to all ports of a host and to no other host.
func TestAnAnswerAppliesToAllPorts(t *testing.T) {
	var asked []string
	r := &Run{ctx: t.Context(), decisions: map[string]*decision{}, command: Command{
		Ask: func(_ context.Context, host, port string) error {
			asked = append(asked, host+":"+port)
			return nil
		},
	}}
	for _, to := range [][2]string{{"a", "443"}, {"a", "22"}, {"b", "22"}, {"a", "80"}} {
		if err := r.allow(t.Context(), to[0], to[1]); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"a:443", "b:22"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
}
