package modelhttp

import (
	"context"
	"io"
	"net"
	"slices"
)

// Body is a request's body in pieces. Long encodings that are kept from request to request stand in
// it as they are: a request costs what is new in it, and its sending, however long the history is.
// Once made it is read-only.
type Body struct {
	parts net.Buffers
	size  int64
}

// kept is what is left of such an encoding: it stands between the bytes that were written before it
// and those after.
type kept struct {
	at   int // how many bytes were written before it
	rest []byte
}

// leastKept is how long an encoding is that is not copied, bytes: a piece of its own costs some
// time too.
const leastKept = 512

// BodyBuilder keeps long encodings while a body is written, so that they need not be copied.
type BodyBuilder struct{ kept []kept }

// Put appends an encoding that is kept beyond the request to b. Its first byte is written, so that
// what looks at what was written before it sees that something was.
func (c *BodyBuilder) Put(b, encoding []byte) []byte {
	if len(encoding) < leastKept {
		return append(b, encoding...)
	}
	b = append(b, encoding[0])
	c.kept = append(c.kept, kept{len(b), encoding[1:]})
	return b
}

// Body makes the body of what was written and what was put between.
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

// reader reads the body from its beginning.
func (b *Body) reader() io.ReadCloser { return &bodyReader{rest: slices.Clone(b.parts)} }

// bodyReader is a Body on its way out. One goroutine at a time uses it.
type bodyReader struct{ rest net.Buffers }

func (r *bodyReader) Read(p []byte) (int, error) { return r.rest.Read(p) }

func (r *bodyReader) Close() error { return nil }

// dial connects as d does, by connections that take a body's pieces as they are.
func dial(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok {
			return gatherConn{tcp, tcp}, err
		}
		return conn, err
	}
}

// gatherConn writes what is left of a body by writev, without a copy of it. net/http hands a body
// over as it was given, within the limit of its length; what comes otherwise, or through TLS, is
// copied as ever.
type gatherConn struct {
	net.Conn // tcp, of which net/http needs no more than this
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
