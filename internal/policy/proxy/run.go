package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
)

// The limits of one command.
const (
	maxConnections = 256
	maxRefused     = 20 // after this many refusals, new hosts are refused without asking
	headerTimeout  = 30 * time.Second
	maxHeader      = 256 << 10
)

// Run is the traffic of one command. It is safe for concurrent use.
type Run struct {
	proxy     *Proxy
	command   Command
	token     string
	ctx       context.Context // ends when the run ends
	cancel    context.CancelFunc
	dialer    hosts.Dialer
	transport *http.Transport
	wg        sync.WaitGroup // counts the server, its requests and the questions

	mu        sync.Mutex // guards the fields below
	ended     bool
	server    *http.Server // nil: the sandbox has offered no listener
	decisions map[string]*decision
	refused   []string // "host: reason", in order
	waits     int      // questions without an answer
	since     time.Time
	waited    time.Duration
}

// decision is the answer about one host.
type decision struct {
	done chan struct{}
	err  error // set before done is closed
}

func newRun(p *Proxy, c Command, token string) *Run {
	r := &Run{proxy: p, command: c, token: token, decisions: map[string]*decision{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.dialer = hosts.Dialer{Lists: c.Lists, Lookup: p.opts.Lookup}
	r.transport = &http.Transport{
		DialContext: r.dialer.DialContext, DisableCompression: true,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeader,
	}
	return r
}

// Socket returns the path of the proxy's Unix socket.
func (r *Run) Socket() string { return r.proxy.path }

// Token identifies the command to the proxy. It is valid for one sandbox.
func (r *Run) Token() string { return r.token }

// attach serves the listener of the command's sandbox. It returns false if the run has ended.
func (r *Run) attach(l net.Listener) bool {
	server := &http.Server{
		Handler: r, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog:    log.New(io.Discard, "", 0), // bad requests are not logged
		BaseContext: func(net.Listener) context.Context { return r.ctx },
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.server = server
	r.wg.Go(func() { _ = server.Serve(netutil.LimitListener(l, maxConnections)) })
	return true
}

// enter counts a request unless the run has ended.
func (r *Run) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.wg.Add(1)
	return true
}

// end closes all connections and ends all questions.
func (r *Run) end() {
	r.cancel()
	r.mu.Lock()
	r.ended = true
	server := r.server
	r.mu.Unlock()
	if server != nil {
		server.Close()
	}
	r.transport.CloseIdleConnections()
}

// Close implements sandbox.Traffic.
func (r *Run) Close() {
	r.proxy.forget(r)
	r.end()
	r.wg.Wait()
}

// Waited implements sandbox.Traffic.
func (r *Run) Waited() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waits > 0 {
		return r.waited + time.Since(r.since)
	}
	return r.waited
}

// Refused implements sandbox.Traffic.
func (r *Run) Refused() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.refused...)
}

// allow returns nil if the command may connect to a host. The user is asked once about each host. A
// program that gives up and retries while the user is being asked waits for the same answer. The
// policy may become stricter later, for example in plan mode.
func (r *Run) allow(ctx context.Context, host, port string) error {
	r.mu.Lock()
	d := r.decisions[host]
	if d == nil {
		if r.ended || len(r.refused) >= maxRefused {
			r.mu.Unlock()
			return errors.New("the command tried to connect to too many refused hosts")
		}
		d = &decision{done: make(chan struct{})}
		r.decisions[host] = d
		if r.waits++; r.waits == 1 {
			r.since = time.Now()
		}
		r.wg.Go(func() { r.decide(d, host, port) })
	}
	r.mu.Unlock()
	select {
	case <-d.done:
		if d.err == nil && r.command.Refused != nil {
			return r.command.Refused(host)
		}
		return d.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Run) decide(d *decision, host, port string) {
	d.err = r.command.Ask(r.ctx, host, port)
	r.mu.Lock()
	if r.waits--; r.waits == 0 {
		r.waited += time.Since(r.since)
	}
	if d.err != nil {
		r.refused = append(r.refused, host+": "+d.err.Error())
	}
	r.mu.Unlock()
	close(d.done)
}
