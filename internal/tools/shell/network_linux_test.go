package shell

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
	"github.com/agent-lsp/agent-lsp/internal/policy/proxy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// internet is a web server on a loopback address, to which every name resolves, and a proxy that
// connects to it.
type internet struct {
	t     testing.TB
	proxy *proxy.Proxy
	port  string
	hits  atomic.Int32      // connections
	files map[string][]byte // by path; other paths return a greeting
	real  bool              // resolve names as in production

	mu    sync.Mutex
	asked []string
	// answer returns the user's decision about a host. If it is nil, every host is refused.
	answer func(ctx context.Context, host string) error
	lists  hosts.Lists
}

// newInternet starts the server and the proxy. allow and deny are the lists in the setting network.
func newInternet(t testing.TB, allow, deny string) *internet {
	t.Helper()
	i := &internet{t: t}
	var faults []error
	i.lists, faults = hosts.Parse(strings.Fields(allow), strings.Fields(deny))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if data, ok := i.files[r.URL.Path]; ok {
				_, _ = w.Write(data)
				return
			}
			if r.URL.Path == "/away" {
				http.Redirect(w, r, "http://other.test:"+i.port+"/", http.StatusFound)
				return
			}
			fmt.Fprintf(w, "hello from %s %s\n", r.Host, r.Header.Get("Proxy-Connection"))
		}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			i.hits.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	_, i.port, _ = net.SplitHostPort(server.Listener.Addr().String())
	dir := t.TempDir() + "/" + strings.Repeat("long", 30) // longer than a socket address can be
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	i.proxy = proxy.New(proxy.Options{
		Socket: func() (string, error) { return dir + "/s", nil },
		Log:    slog.New(slog.DiscardHandler),
		Lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
			if i.real {
				return hosts.Lookup(ctx, name)
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	})
	t.Cleanup(i.proxy.Close)
	return i
}

// begin returns the proxy for one command.
func (i *internet) begin() *sandbox.Proxy {
	i.t.Helper()
	run, err := i.proxy.Begin(proxy.Command{
		Ask: func(ctx context.Context, host, _ string) error {
			i.mu.Lock()
			i.asked = append(i.asked, host)
			i.mu.Unlock()
			if i.answer == nil {
				return errors.New("the user refused this")
			}
			return i.answer(ctx, host)
		},
		Lists: func() hosts.Lists { return i.lists },
	})
	if err != nil {
		i.t.Fatal(err)
	}
	return &sandbox.Proxy{Socket: run.Socket(), Token: run.Token(), Run: run}
}

// in runs a script in a sandbox that can reach the proxy. In the script, PORT is replaced by the
// server's port.
func (i *internet) in(b *box, c Command) (Result, *sandbox.Plan) {
	i.t.Helper()
	spec := sandbox.Spec{Writable: []string{b.work}, Tmp: b.tmp, Proxy: i.begin()}
	plan, err := b.s.Plan(spec)
	if err != nil {
		i.t.Fatal(err)
	}
	defer plan.Close()
	c.Script = strings.ReplaceAll(c.Script, "PORT", i.port)
	c.Dir, c.Sandbox = b.work, plan
	return run(i.t, b.r, c), plan
}

func (i *internet) questions() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return strings.Join(i.asked, " ")
}

// proxied lists the sandboxes in which commands can reach the proxy.
func proxied(t testing.TB) []sandbox.Support {
	t.Helper()
	var out []sandbox.Support
	for _, s := range boxes(t) {
		if s.Proxies() {
			out = append(out, s)
		}
	}
	if len(out) != 3 {
		t.Fatalf("%d sandboxes can reach the proxy", len(out))
	}
	return out
}

func yes(context.Context, string) error { return nil }

// connect opens a tunnel manually and sends a request through it.
const connect = `exec 3<>/dev/tcp/127.0.0.1/61199
printf 'CONNECT %s:PORT HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.0\r\nHost: inside\r\n\r\n' HOST >&3
cat <&3`

// TestCommandsReachAllowedHosts checks that the user is asked once about each new host, and that
// requests and tunnels to an allowed host work.
func TestCommandsReachAllowedHosts(t *testing.T) {
	for _, s := range proxied(t) {
		for _, c := range []struct{ name, script, want, asked string }{
			{"http", "curl -sS http://site.test:PORT/", "hello from site.test:PORT \n",
				"site.test"},
			{
				"one question for a host",
				"curl -sS http://site.test:PORT/ http://SITE.test.:PORT/x",
				"hello from site.test:PORT \nhello from SITE.test.:PORT \n", "site.test",
			},
			{
				"a tunnel", "curl -sSp http://site.test:PORT/", "hello from site.test:PORT \n",
				"site.test",
			},
			{
				"bytes sent before the tunnel is open",
				strings.ReplaceAll(connect, "HOST", "site.test") + " | tail -n 1",
				"hello from inside \n", "site.test",
			},
			{
				"a redirect asks again", "curl -sSL http://site.test:PORT/away",
				"hello from other.test:PORT \n", "site.test other.test",
			},
			{
				"loopback inside needs no proxy",
				`python3 -c 'import http.server as h
s = h.HTTPServer(("127.0.0.1", 8000), h.SimpleHTTPRequestHandler)
import threading; threading.Thread(target=s.serve_forever, daemon=True).start()
import urllib.request as u; print(u.urlopen("http://127.0.0.1:8000/").status)' 2>/dev/null`,
				"200\n", "",
			},
			{
				"the variables name the proxy",
				`env | grep -cE '^(HTTP|HTTPS|ALL)_PROXY=http://127\.0\.0\.1:61199$'`, "3\n", "",
			},
			{"the token is hidden", "env | grep -c AGENT_LSP_PROXY_TOKEN; true", "0\n", ""},
		} {
			t.Run(string(s.Kind)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				i := newInternet(t, "127.0.0.0/8", "")
				i.answer = yes
				res, _ := i.in(newBox(t, s), Command{Script: c.script})
				want := strings.ReplaceAll(c.want, "PORT", i.port)
				if string(res.Head) != want || i.questions() != c.asked {
					t.Errorf("got %q, want %q; asked %q, want %q",
						res.Head, want, i.questions(), c.asked)
				}
			})
		}
	}
}

// TestRefusedHostsGetNoConnection checks that no connection reaches the server if the user refuses
// the host, if the settings deny the host or its address, or if the address is private and no
// setting allows it. This applies however the command tries to connect.
func TestRefusedHostsGetNoConnection(t *testing.T) {
	ways := []string{
		"curl -sS http://site.test:PORT/; true",
		"curl -sSp http://site.test:PORT/; true",
		"curl -sS --noproxy '*' http://127.0.0.1:PORT/; true",
		"curl -sS --noproxy '' http://127.0.0.1:PORT/ http://localhost:PORT/; true",
		"curl -sS --noproxy '' http://2130706433:PORT/ http://0x7f.1:PORT/ http://127.1:PORT/; true",
		"curl -sS --noproxy '' 'http://[::ffff:127.0.0.1]:PORT/' http://0.0.0.0:PORT/; true",
		"curl -sS -H 'Host: allowed.test' http://site.test:PORT/; true",
		"(exec 3<>/dev/tcp/127.0.0.1/PORT) 2>&1; true",
		strings.ReplaceAll(connect, "HOST", "site.test"),
		strings.ReplaceAll(connect, "HOST", "127.0.0.1"),
		"for h in $(hostname -I 2>/dev/null); do (exec 3<>/dev/tcp/$h/PORT) 2>&1; done; true",
	}
	for _, s := range proxied(t) {
		for _, c := range []struct {
			name, allow, deny string
			answer            func(context.Context, string) error
		}{
			{"the user refuses", "127.0.0.0/8", "", nil},
			{"a denied name", "127.0.0.0/8", "site.test localhost 127.0.0.1 0.0.0.0", yes},
			{"a denied address", "127.0.0.0/8", "127.0.0.1 0.0.0.0/8", yes},
			{"a name with a private address", "site.test *", "", yes},
		} {
			t.Run(string(s.Kind)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				i := newInternet(t, c.allow, c.deny)
				i.answer = c.answer
				b := newBox(t, s)
				for _, way := range ways {
					res, plan := i.in(b, Command{Script: way})
					if n := i.hits.Swap(0); n > 0 {
						t.Errorf("%s: %d connections\n%s", way, n, res.Head)
					}
					if c.answer == nil && strings.HasPrefix(way, "curl -sS http://site.test") {
						got := strings.Join(plan.Refused(), ";")
						if got != "site.test: the user refused this" {
							t.Errorf("refused %q", got)
						}
					}
				}
			})
		}
	}
}

// TestARefusedHostIsAskedAboutOnce checks that the user is not asked again if a command retries a
// host that the user has refused.
func TestARefusedHostIsAskedAboutOnce(t *testing.T) {
	for _, s := range proxied(t) {
		t.Run(string(s.Kind), func(t *testing.T) {
			t.Parallel()
			i := newInternet(t, "127.0.0.0/8", "")
			res, _ := i.in(newBox(t, s), Command{
				Script: "for i in 1 2 3; do curl -s http://site.test:PORT/; done",
			})
			n := strings.Count(string(res.Head), "the user refused this")
			if i.questions() != "site.test" || n != 3 || i.hits.Load() > 0 {
				t.Errorf("asked %q, refused %d times, %d connections\n%s",
					i.questions(), n, i.hits.Load(), res.Head)
			}
		})
	}
}

// A read-only command has no proxy. The proxy rejects requests from a command that it does not
// know.
func TestReadOnlyCommandsHaveNoProxy(t *testing.T) {
	for _, s := range proxied(t) {
		t.Run(string(s.Kind), func(t *testing.T) {
			t.Parallel()
			i := newInternet(t, "*", "")
			b := newBox(t, s)
			plan, err := s.Plan(sandbox.Spec{Readable: []string{b.work}, Tmp: b.tmp})
			if err != nil {
				t.Fatal(err)
			}
			res := b.runWith(plan, "env | grep -ci proxy; (exec 3<>/dev/tcp/127.0.0.1/61199) 2>&1")
			out := string(res.Head)
			if !strings.HasPrefix(out, "0\n") || !strings.Contains(out, "refused") {
				t.Errorf("got %q", out)
			}
			stray := &sandbox.Proxy{Socket: i.begin().Socket, Token: "stray"}
			spec := sandbox.Spec{Writable: []string{b.work}, Tmp: b.tmp, Proxy: stray}
			if plan, err = s.Plan(spec); err != nil {
				t.Fatal(err)
			}
			res = b.runWith(plan, "curl -sS http://site.test:"+i.port+"/")
			if res.ExitCode == 0 || i.hits.Load() > 0 || i.questions() != "" {
				t.Errorf("an unknown command got %q, asked %q", res.Head, i.questions())
			}
		})
	}
}

// A command's time limit is paused while a question is open. When the command ends, the question is
// withdrawn.
func TestQuestionsAboutHostsAndTime(t *testing.T) {
	s := proxied(t)[0]
	t.Run("the limit", func(t *testing.T) {
		t.Parallel()
		i := newInternet(t, "127.0.0.0/8", "")
		const limit = 4 * time.Second
		i.answer = func(context.Context, string) error {
			time.Sleep(limit + time.Second)
			return nil
		}
		res, _ := i.in(newBox(t, s), Command{Script: "curl -sS http://site.test:PORT/",
			Timeout: limit})
		if res.TimedOut || !strings.HasPrefix(string(res.Head), "hello") {
			t.Errorf("%+v", res)
		}
	})
	t.Run("the end", func(t *testing.T) {
		t.Parallel()
		i := newInternet(t, "127.0.0.0/8", "")
		ended := make(chan error, 1)
		i.answer = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}
		i.in(newBox(t, s), Command{Script: "curl -sS --max-time 1 http://site.test:PORT/; true"})
		select {
		case <-ended:
		default:
			t.Error("the question is still open after its command ended")
		}
	})
}

// BenchmarkProxyOverhead measures how much time the proxy adds to a command that does not use the
// network. It runs the command with and without the proxy alternately and reports medians in
// milliseconds.
func BenchmarkProxyOverhead(b *testing.B) {
	for _, s := range proxied(b) {
		b.Run(string(s.Kind), func(b *testing.B) {
			i, x := newInternet(b, "", ""), newBox(b, s)
			cost := map[bool][]time.Duration{}
			for b.Loop() {
				for _, proxied := range []bool{false, true} {
					cost[proxied] = append(cost[proxied], timed(func() { i.runTrue(x, proxied) }))
				}
			}
			reportCost(b, "proxy", cost[true], cost[false])
		})
	}
}

// runTrue runs a command that does not use the network.
func (i *internet) runTrue(x *box, proxied bool) {
	spec := sandbox.Spec{Writable: []string{x.work}, Tmp: x.tmp}
	if proxied {
		spec.Proxy = i.begin()
	}
	plan, err := x.s.Plan(spec)
	if err != nil {
		i.t.Fatal(err)
	}
	defer plan.Close()
	run(i.t, x.r, Command{Argv: []string{"/bin/true"}, Dir: x.work, Sandbox: plan})
}
