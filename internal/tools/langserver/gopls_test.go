package langserver

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// testCache returns the folder in which scripts/setup.sh installs the dependencies of the tests.
func testCache(t testing.TB) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "agent-lsp-test")
}

// needs skips a test if its server is not installed. In CI, it fails the test instead.
func needs(t testing.TB, path string) {
	t.Helper()
	if exists(path) {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: run scripts/setup.sh", path)
	}
	t.Skipf("%s is missing: run scripts/setup.sh", path)
}

// realGopls returns options for the gopls binary that scripts/setup.sh installs.
func realGopls(t testing.TB) Options {
	bin := filepath.Join(testCache(t), "bin", "gopls")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	needs(t, bin)
	c := Builtin()[0]
	c.Command, c.Env = bin, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off",
		"GOTELEMETRY=off")
	return Options{Servers: func() []Config { return []Config{c} }, StartTimeout: patience,
		QueryTimeout: patience, word: patience}
}

var goSample = []string{
	"go.mod: module example.com/sample\n\ngo 1.24\n",
	"calc/calc.go: package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n\ntype Shape interface{ Area() int }\n\ntype Square struct{ side int }\n\nfunc (s Square) Area() int { return s.side * s.side }\n",
	"main.go: package main\n\nimport \"example.com/sample/calc\"\n\nfunc main() { println(twice(2)) }\n\nfunc twice(n int) int { return calc.Add(n, n) }\n",
}

// TestGopls uses every operation except codeActions with the real server. One edit breaks a caller
// in another package, and its result must report the error. The edit that fixes the caller must
// report nothing.
func TestGopls(t *testing.T) {
	t.Parallel()
	h := newHarness(t, realGopls(t), goSample...)
	check(t, h.lsp("diagnostics", object{"path": "calc/calc.go"}), "calc/calc.go: clean: gopls")
	check(t, h.lsp("definition", object{"path": "main.go", "line": 7, "symbol": "Add"}),
		"calc/calc.go:4:6: func Add(a, b int) int")
	check(t, h.lsp("references", object{"symbol": "Add"}), "calc/calc.go:4:6",
		"main.go:7:37: func twice")
	check(t, h.lsp("implementation", object{"path": "calc/calc.go", "symbol": "Shape"}),
		"calc/calc.go:8:6: type Square struct")
	check(t, h.lsp("hover", object{"symbol": "calc.Add"}), "func Add(a int, b int) int",
		"Add adds.")
	check(t, h.lsp("documentSymbol", object{"path": "calc/calc.go"}), "function Add",
		"struct Square", "method (Square).Area")
	check(t, h.lsp("workspaceSymbol", object{"query": "twice"}), "sample.twice main.go:7:6")
	check(t, h.lsp("incomingCalls", object{"symbol": "Add"}), "function twice main.go:7:6",
		"call at main.go:7:37")
	check(t, h.lsp("outgoingCalls", object{"path": "main.go", "symbol": "main"}), "function twice",
		"call at main.go:5:23")
	check(t, h.lsp("workspaceDiagnostics", nil), "clean: gopls")

	began := time.Now()
	broken := h.edit("calc/calc.go",
		"package calc\n\n// Add adds.\nfunc Add(a, b, c int) int { return a + b + c }\n\ntype Shape interface{ Area() int }\n\ntype Square struct{ side int }\n")
	t.Logf("the edit that broke a caller took %v", time.Since(began))
	check(t, broken, "new diagnostics after this edit, by gopls", "main.go:7:",
		"not enough arguments in call to calc.Add", "func twice(n int) int", "!not answered")
	check(t, h.edit("main.go", "package main\n\nimport \"example.com/sample/calc\"\n\nfunc main() { println(twice(2)) }\n\nfunc twice(n int) int { return calc.Add(n, n, 0) }\n"), "!diagnostics")
	check(t, h.lsp("workspaceDiagnostics", nil), "clean: gopls")

	// The file changes without a notification to the server, as when a command changes it.
	h.write("calc/more.go: package calc\n\nfunc More() { nowhere() }\n")
	h.ws.WatchedFilesChanged([]workspace.FileEvent{{URI: string(uri.File(filepath.Join(h.root,
		"calc", "more.go")))}})
	check(t, h.lsp("workspaceSymbol", object{"query": "More"}), "calc/more.go:3:6: func More()")

	if err := h.ws.DidOpen(string(uri.File(filepath.Join(h.root, "main.go"))), "go", 1,
		[]byte("package main\n\nfunc main() { missing() }\n")); err != nil {
		t.Fatal(err)
	}
	check(t, h.lsp("diagnostics", object{"path": "main.go"}), "undefined: missing",
		"    func main() { missing() }")
}

func TestGoplsRename(t *testing.T) {
	t.Parallel()
	h := newHarness(t, realGopls(t), goSample...)
	// On a busy machine, gopls first publishes diagnostics for a state in which only one of the two
	// files has changed.
	h.hub.opt.quiet = 3 * time.Second
	check(t, h.run("lsp_rename", object{"symbol": "Add", "new_name": "Sum"}), "Rename to Sum",
		"!ERROR", "!diagnostics")
	for name, want := range map[string]string{"calc/calc.go": "func Sum(a, b int)",
		"main.go": "calc.Sum(n, n)"} {
		text, _ := os.ReadFile(filepath.Join(h.root, name))
		check(t, string(text), want)
	}
	check(t, h.run("lsp_rename", object{"symbol": "Sum", "new_name": "1x"}), "ERROR: gopls refused")
}

// TestGoplsAction applies gopls's quick fix for a missing import.
func TestGoplsAction(t *testing.T) {
	t.Parallel()
	h := newHarness(t, realGopls(t),
		append(goSample, "bad.go: package main\n\nfunc path() string { return filepath.Join(\"a\", \"b\") }\n")...)
	check(t, h.lsp("codeActions", object{"path": "bad.go", "line": 3, "symbol": "filepath"}),
		"bad.go:3:29: code actions from gopls", "\"path/filepath\" (quickfix)")
	check(t, h.run("lsp_action", object{"path": "bad.go", "line": 3, "symbol": "filepath",
		"title": "\"path/filepath\""}), "Add import", "!ERROR", "!undefined")
	text, _ := os.ReadFile(filepath.Join(h.root, "bad.go"))
	check(t, string(text), "import \"path/filepath\"")
}

// TestGoplsPull runs gopls with its setting pullDiagnostics. gopls then answers
// textDocument/diagnostic for open files but still publishes diagnostics, including those for other
// files. A diagnostic that arrives both ways must be reported only once.
func TestGoplsPull(t *testing.T) {
	t.Parallel()
	o := realGopls(t)
	c := o.Servers()[0]
	c.InitializationOptions = json.RawMessage(`{"diagnosticsDelay":"0s","pullDiagnostics":true}`)
	o.Servers = func() []Config { return []Config{c} }
	h := newHarness(t, o, append(goSample,
		"bad.go: package main\n\nfunc init() { missing() }\n")...)
	bad := h.lsp("diagnostics", object{"path": "bad.go"})
	check(t, bad, "bad.go: 1 error, by gopls", "bad.go:3:15: error: undefined: missing",
		"    func init() { missing() }")
	servers, _ := h.hub.forRoots(t.Context())
	if !pulledOf(servers[0], filepath.Join(h.root, "bad.go")) {
		t.Error("gopls was not asked for them")
	}
	check(t, h.edit("bad.go", "package main\n\nfunc init() {}\n"), "!diagnostics")
	check(t, h.lsp("diagnostics", object{"path": "bad.go"}), "bad.go: clean: gopls")

	// On a busy machine, the server publishes diagnostics for other files later.
	h.hub.opt.quiet = 3 * time.Second
	broken := h.edit("calc/calc.go",
		"package calc\n\n// Add adds.\nfunc Add(a, b, c int) int { return a + b + c }\n")
	h.hub.opt.quiet = quiet
	check(t, broken, "new diagnostics after this edit, by gopls", "main.go:7:",
		"not enough arguments in call to calc.Add", "!not answered")
	if n := strings.Count(broken, "not enough arguments"); n != 1 {
		t.Errorf("it is reported %d times: %s", n, broken)
	}
	check(t, h.edit("main.go", "package main\n\nimport \"example.com/sample/calc\"\n\nfunc main() { println(twice(2)) }\n\nfunc twice(n int) int { return calc.Add(n, n, 0) }\n"), "!diagnostics")
	check(t, h.lsp("workspaceDiagnostics", nil), "clean: gopls")

	h.open("main.go", "go", "package main\n\nfunc main() { unsaved() }\n")
	check(t, h.lsp("diagnostics", object{"path": "main.go"}), "main.go: 1 error, by gopls",
		"undefined: unsaved", "    func main() { unsaved() }")
}

// pulledOf reports whether a server has answered a request for the diagnostics of a file.
func pulledOf(s *server, path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems.pulled[path] != nil
}

// countingServer starts an HTTP server that has no pages. It returns the server's address and the
// number of requests.
func countingServer(t *testing.T) (address string, requests *atomic.Int32) {
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// TestGoplsReachesNoHost starts gopls in repositories that name modules or toolchains to download,
// and applies every code action. gopls must not connect to the module proxy.
func TestGoplsReachesNoHost(t *testing.T) {
	t.Parallel()
	proxy, reached := countingServer(t)
	const text = "package main\n\nimport _ \"evil.example/x\"\n\nfunc main() {}\n"
	for name, mod := range map[string]string{
		"a module":    "module example.com/sample\n\ngo 1.24\n\nrequire evil.example/y v1.0.0\n",
		"a toolchain": "module example.com/sample\n\ngo 1.99.0\n\ntoolchain go1.99.0\n",
	} {
		settings := filepath.Join(t.TempDir(), "env") // the user's go environment file
		lines := "GOPROXY=" + proxy + "\nGOSUMDB=off\n"
		if err := os.WriteFile(settings, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		o := realGopls(t)
		c := o.Servers()[0]
		c.Env = append(c.Env, "GOENV="+settings, "GOTOOLCHAIN=auto", "GOMODCACHE="+t.TempDir())
		for k, v := range c.Offline {
			c.Env = append(c.Env, k+"="+v)
		}
		o.Servers = func() []Config { return []Config{c} }
		h := newHarness(t, o, "go.mod: "+mod, "main.go: "+text)
		at := object{"path": "main.go", "line": 3}
		h.lsp("diagnostics", at)
		offered := h.lsp("codeActions", at)
		for _, title := range regexp.MustCompile(`(?m)^- (.*) \(quickfix\)$`).FindAllStringSubmatch(
			offered, -1) {
			at["title"] = title[1]
			h.run("lsp_action", at)
		}
		if name == "a module" && !strings.Contains(offered, "go get") {
			t.Errorf("gopls does not offer to download the module: %s", offered)
		}
		if reached.Load() > 0 {
			t.Errorf("%s: gopls connected to the proxy", name)
		}
	}
}

// TestGoplsWritesNoFile applies a quick fix with which gopls would replace the folder vendor. No
// file may change, because every edit must be a proposal.
func TestGoplsWritesNoFile(t *testing.T) {
	t.Parallel()
	o := realGopls(t)
	c := o.Servers()[0]
	c.Env = withVariables(os.Environ(), "GOFLAGS=", "GOWORK=", "GOPROXY=off", "GOTELEMETRY=off",
		"GOMODCACHE="+t.TempDir())
	c.Languages = map[string]string{".go": "go", ".mod": "go.mod"}
	o.Servers = func() []Config { return []Config{c} }
	h := newHarness(t, o, "go.mod: module example.com/a\n\ngo 1.24\n\n"+
		"require example.com/b v1.0.0\n\nreplace example.com/b => ./b\n",
		"main.go: package main\n\nimport _ \"example.com/b\"\n\nfunc main() {}\n",
		"b/go.mod: module example.com/b\n\ngo 1.24\n", "b/b.go: package b\n",
		"vendor/modules.txt: # example.com/c v1.0.0\n", "vendor/notes.txt: the user's\n")
	before := h.texts()
	h.lsp("diagnostics", object{"path": "go.mod"})
	at := object{"path": "go.mod", "line": 1, "title": "Run go mod vendor"}
	check(t, h.lsp("codeActions", at), "- Run go mod vendor (quickfix)")
	h.run("lsp_action", at)
	if after := h.texts(); !maps.Equal(after, before) {
		t.Errorf("the files are now %q", after)
	}
}

// texts returns the texts of all files by path.
func (h *harness) texts() map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(h.root, func(path string, e os.DirEntry, _ error) error {
		if text, err := os.ReadFile(path); err == nil && !e.IsDir() {
			out[path] = string(text)
		}
		return nil
	})
	return out
}

// withVariables returns an environment in which each of the variables occurs only once.
func withVariables(env []string, variables ...string) []string {
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		env = append(slices.DeleteFunc(env, func(kv string) bool {
			return strings.HasPrefix(kv, name+"=")
		}), v)
	}
	return env
}
