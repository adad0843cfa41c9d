package hosts

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestNormalize(t *testing.T) {
	for host, want := range map[string]string{
		"Example.COM.":    "example.com",
		" example.com ":   "example.com",
		"bücher.example":  "xn--bcher-kva.example",
		"BÜCHER.example":  "xn--bcher-kva.example",
		"例え.jp":           "xn--r8jz45g.jp",
		"ｅｘａｍｐｌｅ.com":     "example.com",
		"example。com":     "example.com",
		"a_b.example":     "a_b.example",
		"[::1]":           "::1",
		"::ffff:10.0.0.1": "10.0.0.1",
		"fe80::1%eth0":    "fe80::1",
		"127.0.0.1":       "127.0.0.1",
		"localhost":       "localhost",
		"１２７。0.0.1":       "127.0.0.1",
		"example.com。":    "example.com",
		"example.com..":   "example.com",
		"a_b.example..":   "a_b.example",

		"": "", ".": "", "。": "", "example.com...": "",
		"example.com.。": "", "example.com。。": "", "a b": "", "a/b": "", "a..b": "",
		"user@host": "", "host:80": "",
		strings.Repeat("a.", 200) + "b": "",
	} {
		if got, err := Normalize(host); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v, want %q", host, got, err, want)
		}
	}
}

func lists(t *testing.T, allow, deny string) Lists {
	t.Helper()
	l, faults := Parse(strings.Fields(allow), strings.Fields(deny))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return l
}

func TestLists(t *testing.T) {
	l := lists(t, "*.Example.org bücher.example 10.0.0.0/8 192.0.2.7",
		"bad.example.org 10.1.0.0/16 *.evil.example ::ffff:10.3.0.0/112 ::ffff:10.4.0.1")
	for host, want := range map[string]string{
		"a.example.org": "allow", "example.org": "", "bad.example.org": "deny",
		"xn--bcher-kva.example": "allow", "x.evil.example": "deny", "evil.example": "",
		"10.2.3.4": "allow", "10.1.2.3": "deny",
		"10.3.2.1": "deny", "10.4.0.1": "deny", "192.0.2.7": "allow", "192.0.2.8": "",
	} {
		got := ""
		if l.Denied(host) {
			got = "deny"
		}
		if l.Allowed(host) {
			got += "allow"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	_, faults := Parse([]string{"ok.example", "a b"}, []string{"https://x.example/"})
	joined := errors.Join(faults...).Error()
	for _, key := range []string{"network.allow[1]", "network.deny[0]"} {
		if len(faults) != 2 || !strings.Contains(joined, key) {
			t.Errorf("faults %v", faults)
		}
	}
	child := lists(t, "more.example", "own.example").Under(l)
	if child.Allowed("more.example") || !child.Allowed("a.example.org") ||
		!child.Denied("own.example") || !child.Denied("bad.example.org") {
		t.Error("a sub-agent's lists are not bounded by its parent's")
	}
}

func TestAddresses(t *testing.T) {
	for address, public := range map[string]bool{
		"93.184.216.34": true, "2606:4700::1111": true, "127.0.0.1": false, "192.168.1.1": false,
		"fe80::1%eth0": false, "169.254.169.254": false, "::ffff:10.0.0.1": false,
		"64:ff9b::7f00:1": false, "224.0.0.1": false, "255.255.255.255": false,
		"2002:7f00:1::": false, "0.0.0.0": false, "::": false, "::1": false, "fd00::1": false,
		"100.64.0.1": false, "ff02::1": false, "fec0::1": false,
		// addresses that contain an IPv4 address, and ranges that are not routed
		"::127.0.0.1": false, "::7f00:1": false, "::ffff:127.0.0.1": false, "::2": false,
		"::ffff:0:127.0.0.1": false, "64:ff9b:1::7f00:1": false, "64:ff9b:1::": false,
		"2001:0:7f00:1::": false, "2001:10::1": false, "2001:2::1": false, "100::1": false,
		"2001:db8::1": false, "3fff::1": false, "5f00::1": false, "fe80::1": false,
		"feff::1": false, "fc00::1": false, "fdff::1": false, "ff0e::1": false, "4000::1": false,
		"1fff::1": false, "200::1": false, "192.0.2.1": false, "198.51.100.1": false,
		"203.0.113.1": false, "192.88.99.1": false, "198.19.0.1": false, "172.31.255.255": false,
		"172.32.0.1": true, "2001:4860:4860::8888": true, "2a00:1450::1": true,
		"3ffe::1": true, "240.0.0.1": false, "100.128.0.1": true, "192.0.1.1": true,
	} {
		if err := (Lists{}).CheckAddress(netip.MustParseAddr(address)); (err == nil) != public {
			t.Errorf("%s: %v", address, err)
		}
	}
	l := lists(t, "10.0.0.0/8 nexus.example", "10.9.0.0/16 93.184.216.34")
	for address, ok := range map[string]bool{
		"10.1.1.1": true, "::ffff:10.1.1.1": true, "10.9.1.1": false, "93.184.216.34": false,
		"192.168.0.1": false,
	} {
		if err := l.CheckAddress(netip.MustParseAddr(address)); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A name is resolved only once, and the dialer checks the resolved addresses. A name that resolves
// to this computer is refused, even if it resolves to another address at other times.
func TestDialResolvesOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	lookups := 0
	d := &Dialer{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		if lookups++; lookups == 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return nil, errors.New("resolved again")
	}}
	for _, c := range []struct {
		allow, deny, host string
		refused           bool
	}{
		{"", "", "rebound.example", true},
		{"rebound.example", "", "rebound.example", true}, // allows no address
		{"127.0.0.0/8", "", "rebound.example", false},
		{"127.0.0.0/8", "127.0.0.1", "rebound.example", true},
		{"127.0.0.0/8", "rebound.example", "REBOUND.example.", true},
		{"", "", "127.0.0.1", true},
		{"", "", "::ffff:127.0.0.1", true},
		{"127.0.0.0/8", "rebound.example", "rebound.example。", true},
		{"127.0.0.0/8", "rebound.example", "rebound.example..", true},
	} {
		lookups = 0
		d.Lists = func() Lists { return lists(t, c.allow, c.deny) }
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(c.host, port))
		if err == nil {
			conn.Close()
		}
		if errors.Is(err, ErrRefused) != c.refused || !c.refused && err != nil {
			t.Errorf("allow %q, deny %q, %s: %v", c.allow, c.deny, c.host, err)
		}
	}
}
