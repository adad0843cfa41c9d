// Package hosts decides which hosts and addresses programs may connect to. It normalizes names,
// parses the lists of the network setting, and connects only to allowed addresses.
package hosts

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"strings"

	"golang.org/x/net/idna"
)

// Normalize returns the canonical spelling of a host, which rules, questions and lists use: an IP
// address without zone, or a name in lower-case ASCII (IDNA) without a trailing dot.
func Normalize(host string) (string, error) {
	host = strings.TrimSuffix(strings.TrimSpace(host), ".")
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip, err := netip.ParseAddr(bare); err == nil {
		return ip.Unmap().WithZone("").String(), nil
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil && isPlain(host) {
		name, err = strings.ToLower(host), nil // such as a name with an underscore
	}
	name = strings.TrimSuffix(name, ".") // a dot of another script, such as 。
	if err != nil || name == "" || len(name) > 253 || strings.Contains(name+".", "..") {
		return "", fmt.Errorf("%q is not a host name", host)
	}
	if ip, err := netip.ParseAddr(name); err == nil { // for example an address in another notation
		return ip.String(), nil
	}
	return name, nil
}

// isPlain reports whether a name has only ASCII letters, digits and the punctuation of host names.
func isPlain(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r == '-', r == '_', r == '.':
		default:
			return false
		}
	}
	return name != "" && !strings.HasPrefix(name, ".") && !strings.Contains(name, "..")
}

// Lists are the hosts that the user's settings allow and deny.
type Lists struct{ allow, deny list }

// list is one of the two lists.
type list struct {
	names []string // normalized; a * matches any text
	nets  []netip.Prefix
}

// Parse parses the two lists. An entry is a name, a name with *, an IP address, or a range such as
// 10.0.0.0/8. Parse skips invalid entries and returns an error for each.
func Parse(allow, deny []string) (Lists, []error) {
	var l Lists
	var faults []error
	for _, part := range []struct {
		key     string
		entries []string
		to      *list
	}{{"allow", allow, &l.allow}, {"deny", deny, &l.deny}} {
		for i, e := range part.entries {
			if err := part.to.add(e); err != nil {
				faults = append(faults, fmt.Errorf("reading network.%s[%d]: %w", part.key, i, err))
			}
		}
	}
	return l, faults
}

func (l *list) add(entry string) error {
	entry = strings.TrimSpace(entry)
	if p, err := netip.ParsePrefix(entry); err == nil {
		if ip := p.Addr(); ip.Is4In6() && p.Bits() >= 96 { // addresses are compared as IPv4
			p = netip.PrefixFrom(ip.Unmap(), p.Bits()-96)
		}
		l.nets = append(l.nets, p.Masked())
		return nil
	}
	name, err := Pattern(entry)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		l.nets = append(l.nets, netip.PrefixFrom(ip, ip.BitLen()))
		return nil
	}
	l.names = append(l.names, name)
	return nil
}

// Pattern normalizes a host pattern. Labels with * are not changed.
func Pattern(pattern string) (string, error) {
	if !strings.Contains(pattern, "*") {
		return Normalize(pattern)
	}
	labels := strings.Split(strings.TrimSuffix(pattern, "."), ".")
	for i, label := range labels {
		if strings.Contains(label, "*") {
			labels[i] = strings.ToLower(label)
			continue
		}
		name, err := Normalize(label)
		if err != nil {
			return "", fmt.Errorf("%q is not a host pattern; use a name, a name with *, "+
				"an IP address or a range of addresses", pattern)
		}
		labels[i] = name
	}
	joined := strings.Join(labels, ".")
	if _, err := path.Match(joined, ""); err != nil {
		return "", fmt.Errorf("%q is not a host pattern: %w", pattern, err)
	}
	return joined, nil
}

// All returns lists that allow every name.
func All() Lists { return Lists{allow: list{names: []string{"*"}}} }

// Under returns the lists of a sub-agent, bounded by its parent's lists: the allowed hosts of the
// parent, and the denied hosts of both agents.
func (l Lists) Under(parent Lists) Lists {
	out := parent
	out.deny.names = append(append([]string(nil), parent.deny.names...), l.deny.names...)
	out.deny.nets = append(append([]netip.Prefix(nil), parent.deny.nets...), l.deny.nets...)
	return out
}

// Denied reports whether a normalized host is on the list of denied hosts.
func (l Lists) Denied(host string) bool { return l.deny.has(host) }

// Allowed reports whether a normalized host may be reached without approval.
func (l Lists) Allowed(host string) bool { return !l.Denied(host) && l.allow.has(host) }

func (l *list) has(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil && l.covers(ip) {
		return true
	}
	for _, pattern := range l.names {
		if Match(pattern, host) {
			return true
		}
	}
	return false
}

func (l *list) covers(ip netip.Addr) bool {
	for _, n := range l.nets {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// Match compares a normalized host with a pattern that Pattern returned. A * matches any text.
func Match(pattern, host string) bool {
	ok, err := path.Match(pattern, host)
	return ok && err == nil
}

// notPublic are ranges of IPv4 addresses, and of IPv6 addresses in global, that the public internet
// does not route to one host: IANA's special-purpose registries, and the transition mechanisms that
// contain an IPv4 address (Teredo, 6to4).
var notPublic = prefixes("0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 " +
	"198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 " +
	"2001::/23 2001:db8::/32 2002::/16 3fff::/20")

// global contains all IPv6 addresses that are routed. Addresses that contain an IPv4 address, such
// as ::127.0.0.1 and 64:ff9b::127.0.0.1, are outside.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(list string) (out []netip.Prefix) {
	for p := range strings.FieldsSeq(list) {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// Public reports whether an address belongs to the public internet.
func Public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for _, n := range notPublic {
		if n.Contains(ip) {
			return false
		}
	}
	if ip.Is6() {
		return global.Contains(ip)
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate()
}

// CheckAddress returns nil if an address may be reached, and the reason otherwise. A non-public
// address needs an entry of network.allow that names it or its range. The name of a host is not
// enough, because the owner of a name chooses its address.
func (l Lists) CheckAddress(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	if err := l.checkDenied(ip); err != nil || Public(ip) || l.allow.covers(ip) {
		return err
	}
	return fmt.Errorf("its address %s belongs to this machine, to a private network or to a reserved range", ip)
}

// checkDenied returns the reason if an address is denied, and nil otherwise.
func (l Lists) checkDenied(ip netip.Addr) error {
	if ip = ip.Unmap().WithZone(""); l.deny.covers(ip) {
		return fmt.Errorf("network.deny contains its address %s", ip)
	}
	return nil
}

// checkDialed calls check for an address with a port.
func checkDialed(hostport string, check func(netip.Addr) error) error {
	ap, err := netip.ParseAddrPort(hostport)
	if err != nil {
		host, _, _ := net.SplitHostPort(hostport)
		return fmt.Errorf("%q is not an IP address", host)
	}
	return check(ap.Addr())
}
