package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
)

// Options configures a Proxy.
type Options struct {
	// Socket returns the path of the Unix socket, in an existing folder of this user.
	Socket func() (string, error)
	Log    *slog.Logger
	// Lookup resolves a name, as hosts.Lookup does.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
}

// Command is a command that may use the proxy.
type Command struct {
	// Ask returns nil if the command may connect to the host, or the reason why it may not. It is
	// called once for each host, and must return when ctx ends.
	Ask func(ctx context.Context, host string, port string) error
	// Refused returns the reason if the policy now refuses the host without asking. An earlier
	// answer does not override it. nil: never.
	Refused func(host string) error
	// Lists returns the hosts that the settings currently allow and deny.
	Lists func() hosts.Lists
}

// Proxy serves the commands of one daemon. It starts to listen when the first command begins. It is
// safe for concurrent use.
type Proxy struct {
	opts Options
	wg   sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	path     string
	listener *net.UnixListener // nil: no command has begun
	runs     map[string]*Run   // runs by token
	offers   map[net.Conn]bool
	closed   bool
}

// New returns a Proxy. The caller must close it.
func New(o Options) *Proxy {
	return &Proxy{opts: o, runs: map[string]*Run{}, offers: map[net.Conn]bool{}}
}

// ErrClosed is returned for a command that begins after Close.
var ErrClosed = errors.New("starting a command: the proxy is closed")

// Begin prepares the proxy for one command. The caller closes the run when the command has ended.
func (p *Proxy) Begin(c Command) (*Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.listener == nil {
		if err := p.listen(); err != nil {
			return nil, fmt.Errorf("starting the proxy for sandboxed commands: %w", err)
		}
	}
	r := newRun(p, c, rand.Text())
	p.runs[r.token] = r
	return r, nil
}

// listen opens the Unix socket. The caller holds mu.
func (p *Proxy) listen() error {
	path, err := p.opts.Socket()
	if err != nil {
		return err
	}
	l, err := listenUnix(path)
	if err != nil {
		return err
	}
	p.path, p.listener = path, l
	p.wg.Go(func() { p.accept(l) })
	return nil
}

// accept serves the sandboxes that connect, until the listener is closed.
func (p *Proxy) accept(l *net.UnixListener) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			conn.Close()
			return
		}
		p.offers[conn] = true
		p.wg.Go(func() { p.serve(conn) })
		p.mu.Unlock()
	}
}

// serve handles the connection of one sandbox, from the offer of a listener until the connection
// closes.
func (p *Proxy) serve(conn *net.UnixConn) {
	defer func() {
		p.mu.Lock()
		delete(p.offers, conn)
		p.mu.Unlock()
		conn.Close()
	}()
	token, l, err := receive(conn)
	if err != nil {
		p.opts.Log.Warn("a sandbox did not offer the proxy a listener", "error", err)
		return
	}
	if l == nil {
		return // the sandbox ended first
	}
	defer l.Close()
	p.mu.Lock()
	r := p.runs[token]
	delete(p.runs, token) // each token can be used once
	p.mu.Unlock()
	if r == nil || !r.attach(l) {
		return
	}
	_, _ = conn.Read(make([]byte, 1)) // returns when the sandbox or the proxy ends
	r.end()
	r.wg.Wait()
}

// forget removes a command that has ended.
func (p *Proxy) forget(r *Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, r.token)
}

// Close ends all connections and waits until they have ended. It is idempotent.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		p.listener.Close()
	}
	for conn := range p.offers {
		conn.Close()
	}
	for _, r := range p.runs {
		r.cancel()
	}
	p.mu.Unlock()
	p.wg.Wait()
}
