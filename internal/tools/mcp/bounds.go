package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// One message from a server may have this many bytes and this many JSON values. The number of
// values is limited separately, because decoding many small values can take 20 times the memory of
// the message.
const (
	maxLine   = 64 << 20
	maxValues = 2_000_000
)

var (
	errTooLarge = fmt.Errorf("it sent a message of more than %d MiB", maxLine>>20)
	errTooMany  = fmt.Errorf("it sent a message of more than %d million JSON values",
		maxValues/1_000_000)
)

// meter measures one message as it arrives in parts.
type meter struct {
	size, values    int
	quoted, escaped bool
}

// add measures the next part of the message. It returns an error once the message is over a limit.
func (m *meter) add(part []byte) error {
	if m.size += len(part); m.size > maxLine {
		return errTooLarge
	}
	for _, c := range part {
		switch {
		case c == '\n': // a JSON string has no newline, so a stray quote affects only its line
			m.quoted, m.escaped = false, false
		case m.escaped:
			m.escaped = false
		case m.quoted:
			m.escaped = c == '\\'
			m.quoted = c != '"'
		case c == '"':
			m.quoted = true
		case c == '[' || c == '{' || c == ',':
			m.values++
		}
	}
	if m.values > maxValues {
		return errTooMany
	}
	return nil
}

// bounded is the body of an HTTP response. It fails if a message in the body is over a limit. The
// messages of an event stream end with an empty line.
type bounded struct {
	io.ReadCloser
	events  bool
	current meter
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
			if err := b.current.add(part[:end]); err != nil {
				return 0, err
			}
			part, b.current = part[end:], meter{}
		}
	}
	if err := b.current.add(part); err != nil {
		return 0, err
	}
	return n, err
}

// The parts of a result that are not text have their own limits, because they are sent to the
// provider with each later request, or to the client, and are stored in the session.
const (
	maxImages     = 20
	maxImageBytes = 3_500_000 // all images in one result; base64 adds a third
	maxDetails    = 1 << 20   // structured content, which only clients get
)

// images counts the images in a result.
type images struct{ count, bytes int }

// add counts an image. It returns the reason if the image must be omitted, and "" otherwise.
func (i *images) add(b *message.Block) (why string) {
	switch b.MimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return "models do not accept this format"
	}
	switch {
	case i.count == maxImages:
		return fmt.Sprintf("a result may contain at most %d images", maxImages)
	case i.bytes+len(b.Data) > maxImageBytes:
		return fmt.Sprintf("the images in a result may have at most %d bytes", maxImageBytes)
	}
	i.count, i.bytes = i.count+1, i.bytes+len(b.Data)
	return ""
}

// sameHost returns the redirect check of a server. It refuses redirects to hosts other than the
// host of the server, because the user has configured only that host. The server could otherwise
// make the daemon connect to any address. It also refuses redirects from https to http.
func sameHost(server string) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		own, err := url.Parse(server)
		switch {
		case err != nil || r.URL.Host != own.Host:
			return fmt.Errorf("it redirects to another host, %s", r.URL.Host)
		case own.Scheme == "https" && r.URL.Scheme != "https":
			return errors.New("it redirects to an address without encryption")
		case len(via) >= mostRedirects:
			return errors.New("it redirects too often")
		}
		return nil
	}
}

const mostRedirects = 10
