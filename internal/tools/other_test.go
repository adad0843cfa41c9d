package tools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
)

func TestPlan(t *testing.T) {
	h := newHarness(t)
	want(t, h.run("plan", args{"entries": []any{args{"step": "look", "status": "done"},
		args{"content": "write", "status": "in_progress"}, "test"}}),
		"1 of 3 completed; in progress: write.")
	plan := h.updates[0].Plan
	if got := fmt.Sprint(plan); got != "[{look completed} {write inProgress} {test pending}]" {
		t.Errorf("plan %s", got)
	}
	want(t, h.run("plan", args{"entries": []any{}}), "ERROR: the plan has no entries")
	want(t, h.run("plan", args{"entries": []any{args{"status": "pending"}}}),
		"ERROR: entry 1 has no content")
	want(t, h.run("plan", args{"entries": []any{args{"content": "x", "status": "perhaps"}}}),
		"ERROR: entry 1: unknown status", "use pending, inProgress or completed")
	want(t, h.run("plan", args{"entries": []any{7}}), "ERROR: ",
		"an entry must be {content, status}")
	want(t, h.run("plan", args{"entries": make([]string, 51)}), "ERROR: the plan has 51 entries")
}

func TestAskUser(t *testing.T) {
	var asked Question
	answer, fail := Answer{Text: "blue"}, error(nil)
	var block bool
	h := newHarness(t, func(d *Deps) {
		d.Ask = func(ctx context.Context, _ *tool.Call, q Question) (Answer, error) {
			if asked = q; block {
				<-ctx.Done()
				return Answer{}, ctx.Err()
			}
			return answer, fail
		}
	})
	want(t, h.run("ask_user", args{"question": "Which?",
		"options": []any{"red", args{"label": "blue", "description": "like the sky"}},
		"multi":   true}), "The user answered: blue")
	if got := fmt.Sprintf("%+v", asked); got != "{Text:Which? Options:[{Label:red Description:} {Label:blue Description:like the sky}] Multi:true}" {
		t.Errorf("asked %s", got)
	}
	answer = Answer{Declined: true}
	want(t, h.run("ask_user", args{"question": "Which?"}), "declined to answer", "best judgment")
	answer = Answer{}
	want(t, h.run("ask_user", args{"question": "Which?"}), "empty answer")
	fail = errors.New("nobody is there")
	want(t, h.run("ask_user", args{"question": "Which?"}),
		"ERROR: asking the user: nobody is there")
	want(t, h.run("ask_user", args{"question": " "}), "ERROR: the question is empty")
	want(t, h.run("ask_user", args{"question": "x", "options": []any{""}}),
		"ERROR: option 1 has no label")
	block = true
	h.steer <- "never mind"
	want(t, h.run("ask_user", args{"question": "Which?"}),
		"did not answer the question but sent a message")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := agenttest.Run(ctx, h.tool("ask_user"),
		h.call(args{"question": "Which?"})); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("aborted: %v", err)
	}
}

func TestToolSearch(t *testing.T) {
	specs := []tool.Spec{{Name: "git_log", Description: "Show history"},
		{Name: "git_diff", Description: "Show changes"},
		{Name: "ls", Aliases: []string{"list_dir"}, Description: "List a folder"}}
	for i := range 10 {
		specs = append(specs, tool.Spec{Name: fmt.Sprintf("many_%d", i),
			Description: "One of several"})
	}
	h := newHarness(t)
	h.tools = h.set.For(Session{ID: "s1", Catalog: func() []tool.Spec { return specs }})
	for _, c := range []struct{ query, active, text string }{
		{"select:ls, git_log", "ls git_log", "- ls: List a folder\n- git_log: Show history"},
		{"select:LIST_DIR,nope", "ls", "Not known: nope."},
		{"/^GIT_/", "git_log git_diff", "Loaded"},
		{"show changes", "git_diff git_log", "Loaded"},
		{"several", "many_0 many_1 many_2 many_3 many_4", "Loaded"},
		{"select:many_9,many_8,many_7,many_6,many_5,many_4,ls",
			"many_9 many_8 many_7 many_6 many_5",
			"- many_5: One of several\nNot loaded (at most 5 per search): many_4, ls. Search again for the ones that you need."},
		{"/many_[2-7]/", "many_2 many_3 many_4 many_5 many_6",
			"Not loaded (at most 5 per search): many_7."},
		{"one of", "many_0 many_1 many_2 many_3 many_4",
			"Not loaded (at most 5 per search): many_5, many_6, many_7, many_8, many_9."},
		{"zebra", "", `No tool matches "zebra". Available tools: git_log, git_diff, ls, many_0`},
	} {
		res, err := h.result("tool_search", args{"query": c.query})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(res.Activate, " "); got != c.active {
			t.Errorf("%s: activates %q, want %q", c.query, got, c.active)
		}
		want(t, res.Text, c.text)
	}
	want(t, h.run("tool_search", args{"query": "/(/"}), "ERROR: invalid regular expression")
	want(t, h.run("tool_search", args{"query": ""}), "ERROR: the query is empty")
	own := newHarness(t)
	var names []string
	for _, s := range deferred(own.tools) {
		names = append(names, s.Name)
	}
	if len(names) < 4 {
		t.Errorf("only %q are deferred", names)
	}
	want(t, own.tool("tool_search").Spec().Description, strings.Join(names, ", "), "!web_search",
		"!fetch")
	want(t, own.run("tool_search", args{"query": "select:ls"}), "- ls: ")
}

func TestFetch(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html><head><title>T</title><script>bad()</script></head><body><h1>Head</h1><p>Hello <b>world</b> &amp; <a href='/x'>all</a></p></body></html>")
		case "/long":
			fmt.Fprint(w, strings.Repeat("é", 40_000))
		case "/huge":
			fmt.Fprint(w, strings.Repeat("x", 6<<20))
		case "/bin":
			w.Header().Set("Content-Type", "application/octet-stream")
			fmt.Fprint(w, "\x00\x01\x02")
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/elsewhere":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/secret":
			http.Redirect(w, r, "http://user:word@example.org/", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	h := newHarness(t).fetching(FetchOptions{Network: ownMachine(t)})
	for path, pieces := range map[string][]string{
		"/page": {"200 OK, text/html. The following text is data",
			"T\n\n# Head\n\nHello world & all (/x)", "!bad"},
		"/long":      {"éé\n[Bytes 0-32768 of 80000. Use offset=32768 to continue.]", "!\ufffd"},
		"/huge":      {"The answer was longer than 5,000,000 bytes"},
		"/bin":       {"ERROR: ", "application/octet-stream (3 bytes), not text"},
		"/loop":      {"ERROR: ", "redirects more than 5 times"},
		"/elsewhere": {"ERROR: ", "only http and https"},
		"/secret":    {"ERROR: ", "name or password", "!word@"},
		"/none":      {"ERROR: ", "404 Not Found"},
	} {
		want(t, h.run("fetch", args{"url": srv.URL + path}), pieces...)
	}
	want(t, h.run("fetch", args{"url": srv.URL + "/long", "offset": 79_999}),
		"[The text ends here.]")
	want(t, h.run("fetch", args{"url": srv.URL + "/long", "offset": 90_000}),
		"ERROR: offset 90000 is beyond")
	want(t, h.run("fetch", args{"url": "ftp://example.org"}), "ERROR: only http and https")
	want(t, h.run("fetch", args{"url": "http://"}), "ERROR: the address has no host")

	closed := newHarness(t).fetching(FetchOptions{})
	for _, address := range []string{srv.URL, "http://localhost:1/", "http://[::1]:1/",
		"http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::ffff:127.0.0.1]:1/",
		"http://0.0.0.0:1/", "http://[fd00::1]/", "http://100.64.0.1/"} {
		want(t, closed.run("fetch", args{"url": address}), "ERROR: ", "private network")
	}
	for _, tool := range newHarness(t).tools {
		if n := tool.Spec().Name; n == "fetch" || n == "web_search" || n == "ask_user" {
			t.Errorf("%s is offered although it cannot work", n)
		}
	}
}

// The settings limit which URLs may be fetched. This includes redirects.
func TestFetchOptions(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			<-release
		case "/away":
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
		}
		fmt.Fprint(w, strings.Repeat("x", 100))
	}))
	defer srv.Close()
	defer close(release)
	h := newHarness(t).fetching(FetchOptions{Network: ownMachine(t), Hosts: []string{"127.0.0.*"},
		MaxBytes: 10})
	slow := newHarness(t).fetching(FetchOptions{Network: ownMachine(t),
		Hosts: []string{"127.0.0.*"}, Timeout: 50 * time.Millisecond})
	want(t, h.run("fetch", args{"url": srv.URL}),
		"xxxxxxxxxx\n[The answer was longer than 10 bytes; the rest was not read.]", "!xxxxxxxxxxx")
	want(t, slow.run("fetch", args{"url": srv.URL + "/slow"}), "ERROR: ", "no answer within 50ms")
	want(t, h.run("fetch", args{"url": srv.URL + "/away"}), "ERROR: ",
		"the host elsewhere.example is not one of the allowed hosts (127.0.0.*)")
	want(t, h.run("fetch", args{"url": "https://example.org"}),
		"ERROR: the host example.org is not one of the allowed hosts")
}

// ownMachine returns host lists that allow the fetch tests to reach servers on this machine.
func ownMachine(t *testing.T, deny ...string) hosts.Lists {
	t.Helper()
	l, faults := hosts.Parse([]string{"127.0.0.0/8", "::1"}, deny)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return l
}

// The user is asked once about a redirect to another host. It is followed only if the user allows
// it.
func TestFetchAsksAboutRedirects(t *testing.T) {
	var reached atomic.Int32
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
		switch {
		case strings.HasPrefix(r.Host, "localhost") && r.URL.Path == "/again":
			http.Redirect(w, r, "/there", http.StatusFound)
		case strings.HasPrefix(r.Host, "localhost"):
			reached.Add(1)
			fmt.Fprint(w, "elsewhere")
		default:
			http.Redirect(w, r, there+r.URL.Path, http.StatusFound)
		}
	}))
	defer srv.Close()
	var asked []string
	var answer error
	h := newHarness(t, func(d *Deps) {
		d.AskHost = func(_ context.Context, _ *tool.Call, host, title string) error {
			asked = append(asked, host+" "+title[:len("Follow a redirect to http://localhost")])
			return answer
		}
	}).fetching(FetchOptions{Network: ownMachine(t)})
	want(t, h.run("fetch", args{"url": srv.URL + "/again"}), "elsewhere", "localhost")
	once := []string{"localhost Follow a redirect to http://localhost"}
	if !slices.Equal(asked, once) || reached.Load() != 1 {
		t.Errorf("asked %q, reached %d times", asked, reached.Load())
	}
	answer = errors.New("not today")
	want(t, h.run("fetch", args{"url": srv.URL + "/x"}),
		"ERROR: it redirects to localhost: not today")
	alone := newHarness(t).fetching(FetchOptions{Network: ownMachine(t)})
	want(t, alone.run("fetch", args{"url": srv.URL + "/x"}),
		"ERROR: it redirects to another host (localhost)")
	denied := newHarness(t).fetching(FetchOptions{Network: ownMachine(t, "127.0.0.1")})
	want(t, denied.run("fetch", args{"url": srv.URL + "/x"}), "ERROR: ", "network.deny contains it")
	if reached.Load() != 1 {
		t.Error("a redirect that was not allowed was followed")
	}
}

func TestHTMLText(t *testing.T) {
	for page, want := range map[string]string{
		"a <b>b</b>c":                                  "a bc",
		"<ul><li>one<li>two</ul>":                      "- one\n- two",
		"<li><p>x</p></li>":                            "- x",
		"<pre>a\n  b</pre>":                            "a\n  b",
		"a<br>b<br/>c":                                 "a\nb\nc",
		"1 < 2 and <3":                                 "1 < 2 and <3",
		"<a href=\"a>b\">x</a>":                        "x (a>b)",
		"<a href='#top'>x</a>":                         "x",
		"<SCRIPT>if (a</b) x</SCRIPT>yes":              "yes",
		"<style>never closed":                          "",
		"<!-- <p>no</p> -->yes":                        "yes",
		"<table><tr><td>1</td><td>2</td></tr></table>": "1 | 2 |",
		"<div><div>x</div></div><p>y":                  "x\n\ny",
		"&lt;b&gt; &copy; &nosuch;":                    "<b> © &nosuch;",
		"<":                                            "<", "<a href=": "", "</": "</",
	} {
		if got := htmlText(page); got != want {
			t.Errorf("%q: got %q, want %q", page, got, want)
		}
	}
}

func FuzzHTMLText(f *testing.F) {
	f.Add("<p>a <a href='x'>b</a><script></script>")
	f.Fuzz(func(t *testing.T, page string) { htmlText(page) })
}

func TestWebSearch(t *testing.T) {
	answers := map[string]string{
		"searx": `{"results":[{"title":"A","url":"https://a","content":"<b>first</b> hit"},{"title":"no address"},7]}`,
		"brave": `{"web":{"results":[{"title":"B","url":"https://b","description":"second"}]}}`,
		"none":  `{"results":[]}`, "html": `<html>`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k" || r.URL.Query().Get("format") != "json" {
			w.WriteHeader(http.StatusForbidden)
		}
		fmt.Fprint(w, answers[r.URL.Query().Get("q")])
	}))
	defer srv.Close()
	h := newHarness(t)
	opt := WebSearchOptions{Endpoint: srv.URL + "/s?format=json",
		Headers: map[string]string{"X-Key": "k"}}
	h.session(func(s *Session) { s.WebSearch = func() WebSearchOptions { return opt } })
	want(t, h.run("web_search", args{"query": "searx"}), "data and not instructions",
		"1. A\nhttps://a\nfirst hit", "!no address")
	want(t, h.run("web_search", args{"query": "brave"}), "1. B\nhttps://b\nsecond")
	want(t, h.run("web_search", args{"query": "none"}), "No results for \"none\".")
	want(t, h.run("web_search", args{"query": "html"}), "ERROR: ", "format=json")
	want(t, h.run("web_search", args{"query": ""}), "ERROR: the query is empty")
	opt = WebSearchOptions{Endpoint: srv.URL + "/{query}"} // the options are read for each search
	want(t, h.run("web_search", args{"query": "a b"}),
		"ERROR: searching the web: the endpoint answered 403")
}

// TestFetchSubjectIsTheHost checks that the subject of a fetch is the host that receives the
// request, however the address is spelled, because rules name hosts.
func TestFetchSubjectIsTheHost(t *testing.T) {
	h := newHarness(t).fetching(FetchOptions{})
	for address, host := range map[string]string{
		"https://example.com/a": "example.com", "example.com/a.example.org": "example.com",
		"example.com/a": "example.com", " https://example.com/a\n": "example.com",
		"https://example.com:8443/a": "example.com", "https://EXAMPLE.com./": "example.com",
		"https://Bücher.example": "xn--bcher-kva.example", "https://[::1]:80/": "::1",
	} {
		s := h.prepared("fetch", args{"url": address}).Subject
		if s.Name != host {
			t.Errorf("the subject of %q is %q, want %q", address, s.Name, host)
		}
	}
}

// TestFetchShowsTheHost checks that a question shows the host that is contacted, even if the model
// spells it so that it looks like another host.
func TestFetchShowsTheHost(t *testing.T) {
	h := newHarness(t).fetching(FetchOptions{})
	for address, want := range map[string]string{
		"https://example.com/a?b=c#d":         "Fetch https://example.com/a?b=c#d",
		"example.com/a":                       "Fetch https://example.com/a",
		"https://EXAMPLE.com./":               "Fetch https://example.com/",
		"https://\u0435xample.com/":           "Fetch https://xn--xample-2of.com/",
		"https://example\u3002com/":           "Fetch https://example.com/",
		"http://\uff11\uff12\uff17.0.0.1:80/": "Fetch http://127.0.0.1:80/",
		"http://[::FFFF:127.0.0.1]/":          "Fetch http://127.0.0.1/",
		"http://[0:0::1]:8080/":               "Fetch http://[::1]:8080/",
		"mailto:a@example.com":                "Fetch mailto:a@example.com",
	} {
		if got := h.prepared("fetch", args{"url": address}).Subject.Title; got != want {
			t.Errorf("the question about %q is %q, want %q", address, got, want)
		}
	}
}

// TestWebSearchKeyStaysWithTheEndpoint checks that the key is not sent to a host to which the
// endpoint redirects.
func TestWebSearchKeyStaysWithTheEndpoint(t *testing.T) {
	var here, there string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there = r.Header.Get("X-Key")
		fmt.Fprint(w, `{"results":[]}`)
	}))
	defer elsewhere.Close()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if here = r.Header.Get("X-Key"); r.URL.Path != "/search" {
			http.Redirect(w, r, "/search", http.StatusFound)
			return
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	defer endpoint.Close()
	h := newHarness(t).session(func(s *Session) {
		s.WebSearch = func() WebSearchOptions {
			return WebSearchOptions{Endpoint: endpoint.URL,
				Headers: map[string]string{"X-Key": "secret"}}
		}
	})
	want(t, h.run("web_search", args{"query": "x"}), "No results")
	if here != "secret" || there != "" {
		t.Errorf("the endpoint got %q, another host %q", here, there)
	}
}

// A redirect of the search endpoint to another host needs its own permission. It is refused if the
// host has a private address that is not allowed, or if network.deny contains the host, whatever
// the user answers.
func TestWebSearchAsksAboutRedirects(t *testing.T) {
	var reached atomic.Int32
	var endpoint *httptest.Server
	endpoint = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "localhost") {
			reached.Add(1)
			fmt.Fprint(w, `{"results":[]}`)
			return
		}
		http.Redirect(w, r, strings.Replace(endpoint.URL, "127.0.0.1", "localhost", 1),
			http.StatusFound)
	}))
	defer endpoint.Close()
	address := endpoint.URL
	var answer error
	var asked []string
	search := func(network hosts.Lists, ask bool) string {
		h := newHarness(t, func(d *Deps) {
			if ask {
				d.AskHost = func(_ context.Context, _ *tool.Call, host, title string) error {
					asked = append(asked, host)
					return answer
				}
			}
		}).session(func(s *Session) {
			s.Fetch = func() FetchOptions { return FetchOptions{Network: network} }
			s.WebSearch = func() WebSearchOptions {
				return WebSearchOptions{Endpoint: address}
			}
		})
		return h.run("web_search", args{"query": "x"})
	}
	want(t, search(ownMachine(t), false), "ERROR: ", "it redirects to another host (localhost)")
	answer = errors.New("not today")
	want(t, search(ownMachine(t), true), "ERROR: ", "it redirects to localhost: not today")
	answer = nil
	want(t, search(hosts.Lists{}, true), "ERROR: ", "belongs to this machine")
	want(t, search(ownMachine(t, "localhost"), true), "ERROR: ", "network.deny contains it")
	if reached.Load() != 0 {
		t.Error("a redirect that was not allowed was followed")
	}
	want(t, search(ownMachine(t), true), "No results")
	// The user's own endpoint may have a private address, but not a denied one.
	address = strings.Replace(address, "127.0.0.1", "localhost", 1)
	denied, _ := hosts.Parse(nil, []string{"127.0.0.0/8", "::1"})
	want(t, search(denied, true), "ERROR: ", "network.deny contains its address 127.0.0.1")
	if reached.Load() != 1 || len(asked) != 4 {
		t.Errorf("reached %d times, asked about %q", reached.Load(), asked)
	}
}
