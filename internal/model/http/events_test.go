package modelhttp

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestJoiner(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string
	}{
		{[]string{`"a\n\"\\\/\b\f\r\t\u00e9"`}, "a\n\"\\/\b\f\r\té"},
		{[]string{`"\ud83d"`, `"\ude00"`}, "😀"},
		{[]string{`"\ud83d"`, `"x"`}, "\uFFFDx"},
		{[]string{"\"\xf0\x9f\"", "\"\x98\x80\""}, "😀"},
		{[]string{"\"\xf0\x9f\""}, "\uFFFD"},
	} {
		var l Joiner
		var got string
		for _, p := range c.pieces {
			got += l.Add([]byte(p))
		}
		got += l.End()
		if got != c.want || !utf8.ValidString(got) || string(l.Text) != got {
			t.Errorf("%q: got %q (kept %q), want %q", c.pieces, got, l.Text, c.want)
		}
	}
}

func TestTimeoutsFollowIdle(t *testing.T) {
	for _, c := range []struct{ idle, wantIdle, wantFirst, wantEvent time.Duration }{
		{0, DefaultIdleTimeout, DefaultFirstByteTimeout, DefaultEventTimeout},
		{time.Second, time.Second, time.Second, 5 * time.Second},
		{DefaultIdleTimeout, DefaultIdleTimeout, DefaultFirstByteTimeout, DefaultEventTimeout},
		{time.Hour, time.Hour, time.Hour, time.Hour},
	} {
		o := Options{IdleTimeout: c.idle}
		o.timeouts()
		if o.IdleTimeout != c.wantIdle || o.FirstByteTimeout != c.wantFirst ||
			o.EventTimeout != c.wantEvent {
			t.Errorf("%v: %v, %v, %v", c.idle, o.IdleTimeout, o.FirstByteTimeout, o.EventTimeout)
		}
	}
}
