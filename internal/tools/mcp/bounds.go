package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// maxLine limits the size of one message of a server, in bytes. Decoding a message can need 20
// times as much memory.
const maxLine = 16 << 20

var errTooLarge = fmt.Errorf("it sent a message of more than %d MiB", maxLine>>20)

// bounded is the body of an HTTP response. It fails if a message in the body is longer than
// maxLine. The messages of an event stream end with an empty line.
type bounded struct {
	io.ReadCloser
	events bool
	size   int // of the current message
}

func newBounded(resp *http.Response) *bounded {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return &bounded{ReadCloser: resp.Body, events: kind == "text/event-stream"}
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	part := p[:n]
	if b.events {
		end := max(bytes.LastIndex(part, []byte("\n\n")), bytes.LastIndex(part, []byte("\n\r\n")))
		if end >= 0 {
			part, b.size = part[end:], 0
		}
	}
	if b.size += len(part); b.size > maxLine {
		return 0, errTooLarge
	}
	return n, err
}

// sameHost refuses redirects to another host, because the user has configured only this one. The
// server could otherwise make the daemon connect to any address.
func sameHost(server string) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		own, err := url.Parse(server)
		switch {
		case err != nil || r.URL.Host != own.Host:
			return fmt.Errorf("it redirects to another host, %s", r.URL.Host)
		case len(via) >= mostRedirects:
			return errors.New("it redirects too often")
		}
		return nil
	}
}

const mostRedirects = 10
