package openai

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// The bounds of the transport.
const (
	dialTimeout      = 15 * time.Second
	handshakeTimeout = 15 * time.Second
	idleConnTimeout  = 90 * time.Second
	idleConnsPerHost = 8
	maxErrorBody     = 64 << 10        // of an error's body that is read
	errorBodyTimeout = 5 * time.Second // for an error's body: the status tells most
	drainTimeout     = 2 * time.Second // for the rest of a stream after its end mark
)

// newClient makes the HTTP client. A redirect of a POST is never followed as a GET: its
// answer would not be the model's.
func (m *Model) newClient() *http.Client {
	rt := m.opts.Transport
	if rt == nil {
		rt = m.newTransport()
	}
	return &http.Client{Transport: rt, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if via[0].Method != req.Method || len(via) > 3 || via[0].URL.Host != req.URL.Host {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

func (m *Model) newTransport() *http.Transport {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial(&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}),
		TLSHandshakeTimeout: handshakeTimeout, IdleConnTimeout: idleConnTimeout,
		MaxIdleConnsPerHost: idleConnsPerHost, ForceAttemptHTTP2: true,
		// A connection that died without a word is found by a ping.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	if len(m.opts.ExtraCAs) > 0 {
		t.TLSClientConfig = &tls.Config{RootCAs: rootsWith(m.opts.ExtraCAs)}
	} else if strings.HasPrefix(m.opts.BaseURL, "https:") {
		m.background.Go(warmRoots)
	}
	return t
}

// warmRoots loads the system's certificates, which takes tens of milliseconds and would
// else stand in the first call's way. The library keeps them for the process.
func warmRoots() { _, _ = x509.SystemCertPool() }

func rootsWith(pem []byte) *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(pem)
	return pool
}

// Do sends go-openai's request with our body, headers and query; it returns only answers
// that are an event stream or JSON, as a normalised event stream. It is go-openai's HTTPDoer.
func (c *call) Do(r *http.Request) (*http.Response, error) {
	c.prepare(r)
	c.watch.start(c.m.opts.FirstByteTimeout)
	resp, err := c.m.client.Do(r)
	c.watch.stop()
	if err != nil {
		return nil, c.unreachable(err)
	}
	watched := &watchedBody{ReadCloser: resp.Body, watch: &c.watch, timeout: c.m.opts.IdleTimeout}
	resp.Body = watched
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		watched.timeout = min(watched.timeout, errorBodyTimeout)
		return nil, c.refused(resp)
	}
	if err := c.accept(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// prepare puts our own body, headers and query into go-openai's request.
func (c *call) prepare(r *http.Request) {
	o := &c.m.opts
	if c.body != nil {
		r.Body, r.ContentLength = c.body.reader(), c.body.size
		r.GetBody = func() (io.ReadCloser, error) { return c.body.reader(), nil }
	}
	r.Header.Del("Connection")
	r.Header.Set("User-Agent", "agent-lsp")
	if c.key != "" {
		c.setKey(r.Header)
	}
	for k, v := range o.Headers {
		r.Header.Set(k, v)
	}
	if len(o.Query) > 0 {
		q := r.URL.Query()
		for k, v := range o.Query {
			q.Set(k, v)
		}
		r.URL.RawQuery = q.Encode()
	}
}

func (c *call) setKey(h http.Header) {
	name := c.m.opts.KeyHeader
	if name == "" && c.m.dialect == Azure {
		name = "api-key"
	}
	if name == "" || strings.EqualFold(name, "Authorization") {
		h.Set("Authorization", "Bearer "+c.key)
		return
	}
	h.Set(name, c.key)
}

// refused makes the typed error of an answer that is none.
func (c *call) refused(resp *http.Response) error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := retry.Classify(resp.StatusCode, resp.Header, []byte(withoutKey(string(body), c.key)), nil) // before it is cut short
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode < 400 {
		e.Hint = c.notFoundHint()
	}
	return e
}

// notFoundHint is for an answer that says there is nothing, or says nothing.
func (c *call) notFoundHint() string {
	base := c.m.shownURL()
	hint := "check provider.baseUrl, which is " + base
	if c.model != "" {
		hint = fmt.Sprintf("check the model %q and provider.baseUrl, which is %s", c.model, base)
	}
	if u, err := url.Parse(base); err == nil && strings.Trim(u.Path, "/") == "" {
		hint += "; most providers' ends in /v1"
	}
	return hint
}

// accept looks at the answer's first byte, which tells more than its content type: a page
// is refused, JSON becomes a stream of one event, all else is read as an event stream.
func (c *call) accept(resp *http.Response) error {
	head := &peeked{src: resp.Body}
	b, err := head.firstByte()
	if err == io.EOF {
		return c.emptyAnswer()
	}
	if err != nil {
		return c.readError(err)
	}
	switch b {
	case '<':
		return c.page(resp)
	case '{', '[':
		return c.acceptJSON(resp, head)
	}
	c.stream = newNormalizer(head, c.m.opts.MaxReply, c.m.opts.EventTimeout)
	resp.Body = &body{Reader: c.stream, Closer: resp.Body}
	return nil
}

// acceptJSON makes a stream of one event of a JSON answer.
func (c *call) acceptJSON(resp *http.Response, src io.Reader) error {
	all, err := io.ReadAll(io.LimitReader(src, int64(c.m.opts.MaxReply)+1))
	if err != nil {
		return c.readError(err)
	}
	if len(all) > c.m.opts.MaxReply {
		return c.readError(errTooLong)
	}
	_ = resp.Body.Close()
	c.whole = all
	one := append(append([]byte("data: "), oneLine(all)...), "\n\ndata: [DONE]\n\n"...)
	if isErrorObject(bytes.TrimSpace(all)) {
		one = append(append([]byte("data: "+errorMark), bytes.TrimSpace(oneLine(all))[1:]...), '\n', '\n')
	}
	resp.Body = io.NopCloser(bytes.NewReader(one))
	return nil
}

// oneLine replaces line ends, which within JSON are only white space.
func oneLine(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b)
}

func (c *call) page(resp *http.Response) error {
	return &retry.Error{
		Kind: retry.Client, Status: resp.StatusCode,
		Message: "the provider answered with an HTML page, not with a model's answer",
		Hint:    fmt.Sprintf("provider.baseUrl is %s; most providers' ends in /v1. A proxy or a login page may also stand between", c.m.shownURL()),
	}
}

func (c *call) emptyAnswer() error {
	return &retry.Error{Kind: retry.Truncated, Message: "the provider's answer is empty", Hint: retry.Hint(retry.Truncated)}
}

// unreachable makes the typed error of a request that got no answer.
func (c *call) unreachable(err error) error {
	if cause := c.watch.cause(); cause != nil {
		return cause
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // its text would show the URL's query
	}
	e := retry.Classify(0, nil, nil, err)
	e.Kind, e.Message = retry.Transient, fmt.Sprintf("reaching %s: %s", c.m.host, retry.Redact(err.Error()))
	e.Hint = transportHint(err, c.m.shownURL())
	if isTLS(err) {
		e.Kind = retry.Client
	}
	return e
}

func transportHint(err error, base string) string {
	var dns *net.DNSError
	switch {
	case isTLS(err):
		return "the certificate is not trusted: SSL_CERT_FILE names a file of further authorities"
	case errors.As(err, &dns):
		return "the host of provider.baseUrl, " + base + ", is not known: check its spelling and the network"
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(err.Error(), "refused"):
		return "nothing listens at " + base + ": start the server or change provider.baseUrl"
	}
	return retry.Hint(retry.Transient)
}

func isTLS(err error) bool {
	var v *tls.CertificateVerificationError
	var u x509.UnknownAuthorityError
	var h x509.HostnameError
	return errors.As(err, &v) || errors.As(err, &u) || errors.As(err, &h)
}

// shownURL is the base URL without user and query.
func (m *Model) shownURL() string {
	u, err := url.Parse(m.opts.BaseURL)
	if err != nil {
		return "not a URL"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// body joins a reader with the closer beneath it.
type body struct {
	io.Reader
	io.Closer
}

// peeked reads ahead to the first byte that is no white space or byte order mark.
type peeked struct {
	src  io.Reader
	head []byte
}

func (p *peeked) firstByte() (byte, error) {
	buf := readBuffers.Get().(*[readSize]byte)
	defer readBuffers.Put(buf)
	for {
		n, err := p.src.Read(buf[:])
		p.head = append(p.head, buf[:n]...)
		if t := bytes.TrimLeft(bytes.TrimPrefix(p.head, []byte("\xef\xbb\xbf")), " \t\r\n"); len(t) > 0 && !partOfBOM(p.head) {
			return t[0], nil
		}
		if err == nil && len(p.head) > maxErrorBody {
			err = errNoEvents
		}
		if err != nil {
			return 0, err
		}
	}
}

func partOfBOM(b []byte) bool { return len(b) < 3 && b[0] == 0xef }

func (p *peeked) Read(b []byte) (int, error) {
	if len(p.head) == 0 {
		return p.src.Read(b)
	}
	n := copy(b, p.head)
	p.head = p.head[n:]
	return n, nil
}
