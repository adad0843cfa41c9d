package modelhttp

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"
)

// randomBody builds a body from short and long encodings with other bytes between them. It also
// returns the expected content.
func randomBody(r *rand.Rand) (*Body, []byte) {
	c := &BodyBuilder{}
	var written, whole []byte
	for range r.IntN(40) {
		piece := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, 1+r.IntN(3*leastKept))
		if r.IntN(2) == 0 {
			written = append(written, piece...)
		} else {
			written = c.Put(written, piece)
		}
		whole = append(whole, piece...)
	}
	return c.Body(written), whole
}

// Reading a body returns exactly the bytes that it was built from, whatever the size of the reads
// and however often the body is read.
func TestBodyIsWhatWasPut(t *testing.T) {
	for seed := range uint64(200) {
		b, want := randomBody(rand.New(rand.NewPCG(seed, 1)))
		if b.size != int64(len(want)) {
			t.Fatalf("seed %d: the size is %d, not %d", seed, b.size, len(want))
		}
		for _, read := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r },
			iotest.OneByteReader, iotest.HalfReader} {
			got, err := io.ReadAll(read(b.reader()))
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %v, %d bytes, not %d", seed, err, len(got), len(want))
			}
		}
	}
}

// The server receives the complete body, both over the package's own connection and over TLS.
func TestBodyArrives(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		_, _ = w.Write(all)
	})
	plain, secure := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	defer plain.Close()
	defer secure.Close()
	m := New(Options{})
	defer m.Close()
	client := &http.Client{Transport: m.newTransport()}
	defer client.CloseIdleConnections()
	for seed := range uint64(50) {
		for _, s := range []struct {
			url    string
			client *http.Client
		}{{plain.URL, client}, {secure.URL, secure.Client()}} {
			b, want := randomBody(rand.New(rand.NewPCG(seed, 2)))
			// The body must be larger than what a connection accepts in one write.
			b.add(bytes.Repeat([]byte("long "), 50_000))
			want = append(want, bytes.Repeat([]byte("long "), 50_000)...)
			req, err := http.NewRequest(http.MethodPost, s.url, b.reader())
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = b.size
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %v, %d bytes arrived, not %d", seed, err, len(got), len(want))
			}
		}
	}
}

// spyConn records whether a body arrives without being copied.
type spyConn struct {
	gatherConn
	whole *bool
}

func (c spyConn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		_, *c.whole = limited.R.(*bodyReader)
	}
	return c.gatherConn.ReadFrom(r)
}

// net/http passes a long body to the connection directly. If a new version of Go no longer does
// this, bodies are copied again, and only this test shows it.
func TestBodyIsNotCopied(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_,
			_ = io.Copy(io.Discard, r.Body)
	}))
	defer s.Close()
	whole := false
	transport := &http.Transport{DialContext: func(ctx context.Context, network,
		addr string) (net.Conn, error) {
		conn, err := dial(&net.Dialer{})(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return spyConn{conn.(gatherConn), &whole}, nil
	}}
	defer transport.CloseIdleConnections()
	c := &BodyBuilder{}
	b := c.Body(c.Put(nil, bytes.Repeat([]byte("long "), 50_000)))
	req, err := http.NewRequest(http.MethodPost, s.URL, b.reader())
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = b.size
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !whole {
		t.Error("net/http copies the body: see gatherConn")
	}
}
