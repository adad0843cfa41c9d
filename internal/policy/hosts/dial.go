package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// dialTimeout bounds one attempt to connect.
const dialTimeout = 30 * time.Second

// Dialer connects to hosts at addresses that the lists allow.
type Dialer struct {
	Lists func() Lists
	// Own means that the user configured the host. It may then have any address that is not denied.
	Own bool
	// Lookup resolves a name. If it is nil, the system's resolver is used.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
}

// ErrRefused is wrapped by the error of a connection that the lists do not allow.
var ErrRefused = errors.New("the connection is not allowed")

// DialContext resolves the host once and connects only to the addresses that it checked. A name
// therefore cannot pass the check with one address and be dialed at another.
func (d *Dialer) DialContext(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", hostport, err)
	}
	lists := d.Lists()
	name, err := Normalize(host)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", hostport, err)
	}
	if lists.Denied(name) {
		return nil, fmt.Errorf("connecting to %s: %w: network.deny contains it", name, ErrRefused)
	}
	addrs, err := d.resolve(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", name, err)
	}
	check := lists.CheckAddress
	if d.Own {
		check = lists.checkDenied
	}
	dialer := net.Dialer{
		Timeout: dialTimeout,
		Control: func(_, dialed string, _ syscall.RawConn) error {
			return checkDialed(dialed, check)
		},
	}
	var failed error
	for _, ip := range addrs {
		if err := check(ip); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%w: %w", ErrRefused, err))
			continue
		}
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	if failed == nil {
		failed = errors.New("it has no address")
	}
	return nil, fmt.Errorf("connecting to %s: %w", name, failed)
}

func (d *Dialer) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{ip}, nil
	}
	if d.Lookup != nil {
		return d.Lookup(ctx, name)
	}
	return Lookup(ctx, name)
}

// Lookup resolves a name with the system's resolver.
func Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}
