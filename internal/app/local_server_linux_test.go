package app

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/config"
)

// probedProviders returns providers with a single server, which was found by probing.
func probedProviders(t *testing.T, at string) (p *providers, url string) {
	p, err := newProviders(&config.Resolver{}, "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	url = at + "/v1"
	e := &config.Endpoint{
		Name: "found", BaseURL: url, Model: "chatty", Local: true, Probed: true,
	}
	p.endpoints[endpointKey("", (&config.Config{}).ProviderSettings("", p.resolver.Env))] = e
	p.local = &localServers{
		file: config.NewTrustFile(filepath.Join(t.TempDir(), "local-servers.json")),
		kept: map[string]bool{},
	}
	return p, url
}

// TestNothingGoesToAServerWithoutAnAnswer checks that no prompt or other text is sent to a server
// found by probing until the user has allowed the program that listens there.
func TestNothingGoesToAServerWithoutAnAnswer(t *testing.T) {
	server := newEndpoint(t)
	p, url := probedProviders(t, server.URL)
	c := &config.Config{}
	model, err := p.named(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	call := func() error {
		_, err := model.Generate(t.Context(), &agent.Request{}, func(agent.Delta) {})
		return err
	}
	refuses := func(when string) {
		t.Helper()
		_, embeds := p.embeddings(t.Context(), c, config.Embeddings{Model: "m"}, "")
		test := p.test(t.Context(), c, "")
		for _, got := range []string{text(call()), text(embeds), test.Error} {
			if !strings.Contains(got, url) || !strings.Contains(got, "set provider.baseUrl to") {
				t.Errorf("%s: %q", when, got)
			}
		}
		if e := retry.As(call()); e == nil || e.Kind != retry.Auth {
			t.Errorf("%s: %+v", when, e)
		}
		p.learn(t.Context(), &config.Endpoint{ID: "ollama", BaseURL: url, Probed: true}, "m")
		if len(server.seen) > 0 {
			t.Errorf("%s: the server received %q", when, server.seen)
		}
	}
	refuses("without an answer")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	answer := func(owner string, allowed bool) {
		t.Helper()
		s := foundServer{p.local, &config.Endpoint{BaseURL: url}, []string{owner}}
		if err := s.Set(url, allowed); err != nil {
			t.Fatal(err)
		}
	}
	answer("/usr/bin/other", true)
	refuses("for another program")
	answer(exe, false)
	refuses("after a refusal")
	answer(exe, true)
	if err := call(); err != nil {
		t.Errorf("allowed: %v", err)
	}
	if test := p.test(t.Context(), c, ""); !test.OK {
		t.Errorf("allowed: %+v", test)
	}
	if _, err := p.embeddings(t.Context(), c, config.Embeddings{Model: "m"}, ""); err != nil {
		t.Errorf("allowed: %v", err)
	}
	server.Close()
	if e := retry.As(call()); e == nil || e.Kind != retry.Transient ||
		!strings.Contains(e.Message, "no longer responds") {
		t.Errorf("nothing listens: %+v", e)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAnAnswerThatCannotBeStored checks that an answer that cannot be stored applies until the
// daemon exits. The same is true of an answer about an unknown program.
func TestAnAnswerThatCannotBeStored(t *testing.T) {
	p, url := probedProviders(t, "http://127.0.0.1:1")
	for _, owners := range [][]string{nil, {"/usr/bin/server"}} {
		p.local.file = config.NewTrustFile("/dev/null/local-servers.json")
		s := foundServer{p.local, &config.Endpoint{BaseURL: url}, owners}
		if _, asked := s.Trusts(url); asked {
			t.Errorf("%q: answered without a question", owners)
		}
		if err := s.Set(url, true); (err == nil) != (owners == nil) {
			t.Errorf("%q: %v", owners, err)
		}
		if trusted, asked := s.Trusts(url); !trusted || !asked {
			t.Errorf("%q: the answer is lost", owners)
		}
	}
}

// TestARefusalOfOneProgramKeepsOthers checks that, if two programs listen on the same port,
// refusing the second one does not revoke the answer about the first one.
func TestARefusalOfOneProgramKeepsOthers(t *testing.T) {
	p, url := probedProviders(t, "http://127.0.0.1:1")
	with := func(owners ...string) foundServer {
		return foundServer{p.local, &config.Endpoint{BaseURL: url}, owners}
	}
	for _, err := range []error{with("/a").Set(url, true), with("/a", "/b").Set(url, false)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for owners, want := range map[string]bool{"/a": true, "/b": false, "/a /b": false} {
		trusted, asked := with(strings.Fields(owners)...).Trusts(url)
		if trusted != want || !asked {
			t.Errorf("%s: trusted %v, asked %v", owners, trusted, asked)
		}
	}
	if trusted, asked := with("/a", "/c").Trusts(url); trusted || asked {
		t.Error("a program without an answer is trusted together with one that has one")
	}
}

// TestOwnersThatCannotBeInspected checks that a program of another user is described by that user's
// ID. If a process of the current user cannot be inspected, the owners are unknown.
func TestOwnersThatCannotBeInspected(t *testing.T) {
	me, other := os.Getuid(), 1<<30
	named := "a program of the user " + strconv.Itoa(other)
	for _, c := range []struct {
		sockets map[string]int
		want    []string
	}{
		{map[string]int{"1": me}, []string{"/a"}},
		{map[string]int{"1": me, "2": other}, []string{"/a", named}},
		{map[string]int{"1": me, "3": me}, nil},
	} {
		got := ownersOf(c.sockets, map[string][]string{"1": {"/a"}})
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.sockets, got, c.want)
		}
	}
}

// TestListeners uses its own loopback addresses, so that no other program's port interferes.
func TestListeners(t *testing.T) {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	const own, other = "127.77.1.2:", "127.77.1.3:"
	for _, on := range []string{own + "0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", on)
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if got := listeners(own + port); !slices.Equal(got, []string{exe}) {
			t.Errorf("on %s: %q", on, got)
		}
		if got := listeners(other + port); on == own+"0" && len(got) > 0 {
			t.Errorf("on another address: %q", got)
		}
		_ = l.Close()
		if got := listeners(own + port); slices.Contains(got, exe) {
			t.Errorf("on %s, closed: %q", on, got)
		}
	}
}

// A workspace cannot choose a program of this machine that gets the prompts, and neither can a
// model that starts a sub-agent. The user's own settings can.
func TestAWorkspaceChoosesNoLocalServer(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, config.WorkspaceName),
		[]byte(`{"model": "vllm/m", "titleModel": "ollama/m"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := probedProviders(t, "")
	of := config.Load(config.Sources{Root: root})
	own := of.With(config.Session, []byte(`{"fallbackModels": ["vllm/other"]}`))
	defined := of.With(config.Flags, []byte(`{"providers": {"vllm": {}}}`))
	turn := withOptions(*of.Config(), &agent.TurnOptions{Model: "vllm/m"})
	for _, c := range []struct {
		config *config.Config
		ref    string
		asks   bool
	}{
		{of.Config(), "vllm/m", true},
		{of.Config(), "ollama/m", true},
		{of.Config(), "lmstudio/m", true},
		{own.Config(), "vllm/m", false},
		{own.Config(), "ollama/m", true},
		{defined.Config(), "vllm/m", false},
		{&turn, "vllm/m", false},
		{&config.Config{}, "vllm/m", false},
	} {
		r, err := p.refer(t.Context(), c.config, c.ref)
		if err != nil || r.at.Probed != c.asks {
			t.Errorf("%s: %v, %+v, want %v", c.ref, err, r.at, c.asks)
		}
	}
}
