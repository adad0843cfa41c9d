package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"

	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
)

// ServeHTTP handles one request of the command: a tunnel (CONNECT) or a request for an http URL.
func (r *Run) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !r.enter() {
		refuse(w, http.StatusServiceUnavailable, "the command has ended")
		return
	}
	defer r.wg.Done()
	tunnel := req.Method == http.MethodConnect
	if !tunnel && (req.URL.Scheme != "http" || req.URL.Host == "") {
		refuse(w, http.StatusBadRequest, "this is a proxy: it accepts CONNECT and http addresses")
		return
	}
	host, port, err := target(req.URL, tunnel)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	err = r.checkLiteral(host)
	if err == nil {
		err = r.allow(req.Context(), host, port)
	}
	if err != nil {
		refuse(w, http.StatusForbidden, fmt.Sprintf("connecting to %s: %v", host, err))
		return
	}
	if tunnel {
		r.tunnel(w, req.Context(), net.JoinHostPort(host, port))
		return
	}
	r.forward(w, req)
}

// checkLiteral refuses an IP address that may not be reached, without asking the user about it. The
// address of a name is looked up only after the answer, because a lookup sends the name to other
// hosts.
func (r *Run) checkLiteral(host string) error {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	return r.command.Lists().CheckAddress(ip)
}

// target returns the normalized host and the port of a request.
func target(u *url.URL, tunnel bool) (host, port string, err error) {
	if port = u.Port(); port == "" && !tunnel {
		port = "80"
	}
	if port == "" {
		return "", "", errors.New("the address has no port")
	}
	host, err = hosts.Normalize(u.Hostname())
	return host, port, err
}

func refuse(w http.ResponseWriter, code int, why string) {
	http.Error(w, "agent-lsp: "+why, code)
}

// forward forwards a request. The transport resolves and checks the host when it connects.
func (r *Run) forward(w http.ResponseWriter, req *http.Request) {
	proxy := httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.Out.URL.RawQuery = p.In.URL.RawQuery },
		Transport: r.transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { failed(w, err) },
	}
	proxy.ServeHTTP(w, req)
}

// failed responds to a request whose connection could not be established.
func failed(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	if errors.Is(err, hosts.ErrRefused) {
		code = http.StatusForbidden
	}
	refuse(w, code, err.Error())
}

// tunnel connects the command's program to the host until one side closes or the run ends.
func (r *Run) tunnel(w http.ResponseWriter, ctx context.Context, address string) {
	there, err := r.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		failed(w, err)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		failed(w, err)
		return
	}
	defer here.Close()
	stop := context.AfterFunc(r.ctx, func() {
		here.Close()
		there.Close()
	})
	defer stop()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	up := make(chan struct{})
	go func() {
		defer close(up)
		copyTo(there, buffered.Reader, here)
	}()
	copyTo(here, nil, there)
	<-up
}

// copyTo copies the data that was already buffered from one side, and then everything that this
// side sends. It then passes on the end of the stream.
func copyTo(to net.Conn, first *bufio.Reader, from net.Conn) {
	if first != nil && first.Buffered() > 0 {
		if _, err := io.CopyN(to, first, int64(first.Buffered())); err != nil {
			return
		}
	}
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		to.Close()
		from.Close()
	}
}
