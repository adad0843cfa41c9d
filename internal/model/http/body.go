package modelhttp

import (
	"context"
	"io"
	"net"
	"slices"
)

// Body is a request's body in pieces. Long encodings that are cached between requests are used
// without copying. The cost of building and sending a request therefore depends only on its new
// parts, not on the length of the history. A Body is read-only.
type Body struct {
	parts net.Buffers
	size  int64
}

// kept is the part of a long encoding that is not copied. It belongs between the bytes that were
// written before it and those written after it.
type kept struct {
	at   int // number of bytes that were written before it
	rest []byte
}

// leastKept is the minimum length, in bytes, of an encoding that is not copied. Shorter encodings
// are copied, because a separate piece also has a cost.
const leastKept = 512

// BodyBuilder collects long encodings while a body is written, so that they need not be copied.
type BodyBuilder struct{ kept []kept }

// Put appends to b an encoding that outlives the request. It writes only the first byte of a long
// encoding to b, so that code that checks whether b has grown works as usual.
func (c *BodyBuilder) Put(b, encoding []byte) []byte {
	if len(encoding) < leastKept {
		return append(b, encoding...)
	}
	b = append(b, encoding[0])
	c.kept = append(c.kept, kept{len(b), encoding[1:]})
	return b
}

// Body returns a body with the written bytes and the collected encodings.
func (c *BodyBuilder) Body(written []byte) *Body {
	b := &Body{parts: make(net.Buffers, 0, 2*len(c.kept)+1)}
	from := 0
	for _, k := range c.kept {
		b.add(written[from:k.at])
		b.add(k.rest)
		from = k.at
	}
	b.add(written[from:])
	c.kept = nil
	return b
}

func (b *Body) add(part []byte) {
	if len(part) > 0 {
		b.parts = append(b.parts, part)
		b.size += int64(len(part))
	}
}

// reader returns a reader of the whole body.
func (b *Body) reader() io.ReadCloser { return &bodyReader{rest: slices.Clone(b.parts)} }

// bodyReader reads a Body that is being sent. It is used by one goroutine at a time.
type bodyReader struct{ rest net.Buffers }

func (r *bodyReader) Read(p []byte) (int, error) { return r.rest.Read(p) }

func (r *bodyReader) Close() error { return nil }

// dial connects like d. Its connections accept the pieces of a body without copying them.
func dial(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok {
			return gatherConn{tcp, tcp}, err
		}
		return conn, err
	}
}

// gatherConn writes the unread part of a body with writev, without copying it. net/http passes a
// body to the connection directly if its length is known. Other content, and everything on TLS
// connections, is copied as usual.
type gatherConn struct {
	net.Conn // a TCP connection; net/http needs no other methods
	tcp      *net.TCPConn
}

// ReadFrom implements io.ReaderFrom.
func (c gatherConn) ReadFrom(r io.Reader) (int64, error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		return c.tcp.ReadFrom(r)
	}
	body, ok := limited.R.(*bodyReader)
	if !ok {
		return c.tcp.ReadFrom(r)
	}
	n, err := body.rest.WriteTo(c.tcp)
	limited.N -= n
	return n, err
}
