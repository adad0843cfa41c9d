package modelhttp

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Answer is a usable answer, which has neither an error status nor an HTML page. Either Whole or
// Events is set.
type Answer struct {
	Response *http.Response // its body must not be read
	Whole    []byte         // a JSON document
	Events   *Events        // an event stream

	body io.ReadCloser
}

// Send sends r with the call's body and key, and with the client's headers and query.
func (c *Call) Send(r *http.Request) (*Answer, error) {
	c.prepare(r)
	c.watch.start(c.Client.Options.FirstByteTimeout)
	resp, err := c.Client.client.Do(r)
	c.watch.stop()
	if err != nil {
		return nil, c.unreachable(err)
	}
	watched := &watchedBody{
		ReadCloser: resp.Body,
		watch:      &c.watch,
		timeout:    c.Client.Options.IdleTimeout,
	}
	resp.Body = watched
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		watched.timeout = min(watched.timeout, errorBodyTimeout)
		return nil, c.refused(resp)
	}
	a, err := c.accept(resp)
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	c.answer = a
	return a, nil
}

// prepare adds the call's body and the client's headers and query to a request.
func (c *Call) prepare(r *http.Request) {
	o := &c.Client.Options
	if c.Body != nil {
		r.Body, r.ContentLength = c.Body.reader(), c.Body.size
		r.GetBody = func() (io.ReadCloser, error) { return c.Body.reader(), nil }
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

func (c *Call) setKey(h http.Header) {
	name := c.Client.Options.KeyHeader
	if name == "" || strings.EqualFold(name, "Authorization") {
		h.Set("Authorization", "Bearer "+c.key)
		return
	}
	h.Set(name, c.key)
}

// accept examines the first byte of the answer, which is more reliable than the content type. It
// refuses an HTML page, reads JSON as a whole, and reads everything else as an event stream.
func (c *Call) accept(resp *http.Response) (*Answer, error) {
	head := &peeked{src: resp.Body}
	b, err := head.firstByte()
	if err == io.EOF {
		return nil, c.emptyAnswer()
	}
	if err != nil {
		return nil, c.readError(err)
	}
	switch b {
	case '<':
		return nil, c.page(resp)
	case '{', '[':
		return c.acceptJSON(resp, head)
	}
	o := &c.Client.Options
	return &Answer{
		Response: resp,
		body:     resp.Body,
		Events:   NewEvents(head, o.MaxEvent, o.EventTimeout, o.EndMark),
	}, nil
}

// acceptJSON reads a JSON answer.
func (c *Call) acceptJSON(resp *http.Response, src io.Reader) (*Answer, error) {
	most := c.Client.Options.MaxEvent
	all, err := io.ReadAll(io.LimitReader(src, int64(most)+1))
	if err != nil {
		return nil, c.readError(err)
	}
	if len(all) > most {
		return nil, c.readError(errLongEvent)
	}
	_ = resp.Body.Close()
	return &Answer{Response: resp, body: resp.Body, Whole: all}, nil
}

// peeked reads ahead to the first byte that is neither white space nor part of a byte order mark.
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
		if t := bytes.TrimLeft(
			bytes.TrimPrefix(p.head, []byte("\xef\xbb\xbf")),
			" \t\r\n",
		); len(t) > 0 &&
			!partOfBOM(p.head) {
			return t[0], nil
		}
		if err == nil && len(p.head) > maxErrorBody {
			err = ErrNoEvents
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
