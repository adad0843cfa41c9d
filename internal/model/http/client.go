package modelhttp

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Limits of the transport.
const (
	dialTimeout      = 15 * time.Second
	handshakeTimeout = 15 * time.Second
	idleConnTimeout  = 90 * time.Second
	idleConnsPerHost = 8
	maxErrorBody     = 64 << 10 // maximum number of bytes that are read from an error's body
	// errorBodyTimeout limits reading the body of an error. It is short, because the status is more
	// important.
	errorBodyTimeout = 5 * time.Second
	drainTimeout     = 2 * time.Second // time limit for reading the bytes after the end mark
)

// Client makes the calls to one endpoint. It is safe for concurrent use. Close it when it is no
// longer needed.
type Client struct {
	Options Options // completed by New; read-only
	Host    string  // host of BaseURL, for messages
	Tools   ToolList

	client     *http.Client
	background sync.WaitGroup // loads certificates and drains connections
	stop       context.CancelFunc
	ctx        context.Context
}

// New returns a Client. It does not access the network. For an https endpoint it starts to load the
// system's certificates in the background.
func New(opts Options) *Client {
	opts.BaseURL = strings.TrimRight(opts.BaseURL, "/")
	opts.timeouts()
	opts.limits()
	c := &Client{Options: opts}
	if u, err := url.Parse(opts.BaseURL); err == nil {
		c.Host = u.Host
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.client = c.newClient()
	return c
}

// Close ends the client's background work and waits for it. Running calls continue.
func (c *Client) Close() error {
	c.stop()
	c.Settle()
	c.client.CloseIdleConnections()
	return nil
}

// Settle waits for the client's background work.
func (c *Client) Settle() { c.background.Wait() }

// newClient returns the HTTP client. The client does not follow a redirect that would change a POST
// into a GET, because the answer would not come from the model. It also does not follow a redirect
// that would send the key to another host or unencrypted.
func (c *Client) newClient() *http.Client {
	rt := c.Options.Transport
	if rt == nil {
		rt = c.newTransport()
	}
	return &http.Client{
		Transport: rt,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			first := via[0].URL
			if via[0].Method != req.Method || len(via) > 3 || first.Host != req.URL.Host ||
				first.Scheme == "https" && req.URL.Scheme != "https" {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

func (c *Client) newTransport() *http.Transport {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial(&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}),
		TLSHandshakeTimeout: handshakeTimeout, IdleConnTimeout: idleConnTimeout,
		MaxIdleConnsPerHost: idleConnsPerHost, ForceAttemptHTTP2: true,
		// Pings detect a connection that has failed without an error.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	if strings.HasPrefix(c.Options.BaseURL, "https:") {
		c.background.Go(warmRoots)
	}
	return t
}

// warmRoots loads the system's certificates. This takes tens of milliseconds and would otherwise
// delay the first call. The library caches them for the process.
func warmRoots() { _, _ = x509.SystemCertPool() }
