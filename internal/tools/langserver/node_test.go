package langserver

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// realNode returns options for a server that scripts/setup.sh installs from npm. They are the same
// as in the built-in table, except for the command.
func realNode(t testing.TB, name string, script ...string) Options {
	t.Helper()
	if !testspeed.Full() {
		t.Skip("a server that runs on Node takes seconds to start: use `make test`, AGENT_LSP_FULL=1 or -run")
	}
	path := filepath.Join(append([]string{testCache(t), "node", "node_modules"}, script...)...)
	needs(t, path)
	for _, c := range Builtin() {
		if c.Name == name {
			c.Command, c.Args, c.Env = "node", append([]string{path}, c.Args...), os.Environ()
			return Options{Servers: func() []Config { return []Config{c} }, StartTimeout: patience,
				QueryTimeout: patience,
				// The server responds more slowly on a busy machine.
				sparing: 6 * time.Second}
		}
	}
	t.Fatalf("the table has no server %s", name)
	return Options{}
}

// open opens a file in the editor with the given text, which may differ from the file on disk.
func (h *harness) open(name, language, text string) {
	h.t.Helper()
	if err := h.ws.DidOpen(string(uri.File(filepath.Join(h.root, name))), language, 1,
		[]byte(text)); err != nil {
		h.t.Fatal(err)
	}
}

// loaded returns the diagnostics of a file after the server has finished loading.
func (h *harness) loaded(path string) (answer string) {
	for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline); {
		answer = h.lsp("diagnostics", object{"path": path})
		if !strings.Contains(answer, ": not ready: ") && !strings.Contains(answer, ": no data: ") {
			break
		}
	}
	return answer
}

// TestTypeScriptServer uses every operation except workspaceDiagnostics with the real
// typescript-language-server. All operations share one server, because it takes seconds to start.
func TestTypeScriptServer(t *testing.T) {
	t.Parallel() // the test mostly waits
	o, bound := realNode(t, "typescript-language-server", "typescript-language-server", "lib",
		"cli.mjs"), patience
	o.AfterEdit = func() (bool, time.Duration) { return true, bound }
	h := newHarness(t, o,
		"move.ts: export function plus(a: number, b: number): number {\n  return a + b;\n}\n\nexport const four = plus(2, 2);\n",
		"tsconfig.json: {\"compilerOptions\": {\"strict\": true, \"module\": \"esnext\", \"moduleResolution\": \"bundler\"}}\n",
		"calc.ts: /** Adds. */\nexport function add(a: number, b: number): number {\n  return a + b;\n}\n\nexport interface Shape { area(): number }\n\nexport class Square implements Shape {\n  area(): number { return 4; }\n}\n",
		"main.ts: import { add } from \"./calc\";\n\nexport function twice(n: number): number {\n  return add(n, n);\n}\n")
	check(t, h.loaded("calc.ts"), "calc.ts: clean: typescript-language-server")
	check(t, h.loaded("main.ts"), "main.ts: clean: typescript-language-server")
	check(t, h.lsp("definition", object{"path": "main.ts", "line": 4, "symbol": "add"}),
		"calc.ts:2:17: export function add")
	check(t, h.lsp("references", object{"path": "calc.ts", "symbol": "add"}), "calc.ts:2:17",
		"main.ts:4:10: return add(n, n);")
	check(t, h.lsp("implementation", object{"path": "calc.ts", "symbol": "Shape"}),
		"calc.ts:8:14: export class Square")
	check(t, h.lsp("hover", object{"path": "main.ts", "line": 4, "symbol": "add"}),
		"add(a: number, b: number): number", "Adds.")
	check(t, h.lsp("documentSymbol", object{"path": "calc.ts"}), "function add", "class Square",
		"method area")
	check(t, h.lsp("workspaceSymbol", object{"query": "twice"}), "function twice main.ts:3")
	check(t, h.lsp("incomingCalls", object{"path": "calc.ts", "symbol": "add"}), "function twice",
		"call at main.ts:4:10")
	check(t, h.lsp("outgoingCalls", object{"path": "main.ts", "symbol": "twice"}), "function add")
	check(t, h.edit("calc.ts", "export function add(a: number, b: number, c: number): number {\n  return a + b + c;\n}\n"),
		"new diagnostics after this edit, by typescript-language-server",
		"main.ts:4:10: error: Expected 3 arguments, but got 2", "return add(n, n)")
	h.hub.opt.sparing = sparing // later edits break nothing, so no report is expected
	check(t, h.edit("main.ts", "import { add } from \"./calc\";\n\nexport function twice(n: number): number {\n  return add(n, n, 0);\n}\n"), "!diagnostics")
	check(t, h.run("lsp_rename", object{"path": "calc.ts", "symbol": "add", "new_name": "sum"}),
		"Rename to sum", "!ERROR")
	if text, _ := os.ReadFile(filepath.Join(h.root,
		"main.ts")); string(text) != "import { sum } from \"./calc\";\n\nexport function twice(n: number): number {\n  return sum(n, n, 0);\n}\n" {
		t.Errorf("renamed: %s", text)
	}
	bound = time.Second // the server sends no report for a new file without errors
	movedByTypeScript(t, h)
	h.open("main.ts", "typescript", "export const x: string = twice(2);\n")
	check(t, h.loaded("main.ts"), "Cannot find name 'twice'", "export const x: string = twice(2);")
	check(t, h.lsp("codeActions", object{"path": "main.ts", "line": 1, "symbol": "twice"}),
		"Add missing function declaration 'twice' (quickfix)")
}

// movedByTypeScript moves a declaration to a new file, which the server's edit creates.
func movedByTypeScript(t *testing.T, h *harness) {
	t.Helper()
	check(t, h.run("lsp_action", object{"path": "move.ts", "line": 1, "end_line": 3,
		"title": "Move to a new file"}), "Move to a new file: ", "!ERROR")
	text, err := os.ReadFile(filepath.Join(h.root, "plus.ts"))
	check(t, string(text), "export function plus(a: number, b: number): number {")
	if err != nil {
		t.Error(err)
	}
	text, _ = os.ReadFile(filepath.Join(h.root, "move.ts"))
	check(t, string(text), "import { plus } from \"./plus\";", "!return a + b")
}

// TestPyright queries the real pyright, and applies an edit and a rename.
func TestPyright(t *testing.T) {
	t.Parallel() // the test mostly waits
	o := realNode(t, "pyright", "pyright", "langserver.index.js")
	o.quiet = 4 * time.Second // pyright checks one file after another
	h := newHarness(t, o,
		"pyproject.toml: [tool.pyright]\n",
		"calc.py: def add(a: int, b: int) -> int:\n    \"\"\"Adds.\"\"\"\n    return a + b\n",
		"main.py: from calc import add\n\n\ndef twice(n: int) -> int:\n    return add(n, n)\n")
	check(t, h.loaded("calc.py"), "calc.py: clean: pyright")
	check(t, h.loaded("main.py"), "main.py: clean: pyright")
	check(t, h.lsp("definition", object{"path": "main.py", "line": 5, "symbol": "add"}),
		"calc.py:1:5: def add")
	check(t, h.lsp("references", object{"path": "calc.py", "symbol": "add"}), "calc.py:1:5",
		"main.py:5:12: return add(n, n)")
	check(t, h.lsp("hover", object{"path": "main.py", "line": 5, "symbol": "add"}), "a: int,",
		"-> int", "Adds.")
	check(t, h.lsp("documentSymbol", object{"path": "calc.py"}), "function add")
	check(t, h.lsp("workspaceSymbol", object{"query": "twice"}), "function twice main.py:4")
	check(t, h.lsp("incomingCalls", object{"path": "calc.py", "symbol": "add"}), "function twice",
		"call at main.py:5:12")
	check(t, h.lsp("outgoingCalls", object{"path": "main.py", "symbol": "twice"}), "function add")
	check(t, h.edit("calc.py", "def add(a: int, b: int, c: int) -> int:\n    return a + b + c\n"),
		"new diagnostics after this edit, by pyright",
		"main.py:5:12: error: Argument missing for parameter \"c\"", "return add(n, n)")
	h.hub.opt.quiet = quiet // later edits break nothing, so no report is expected
	check(t, h.edit("main.py", "from calc import add\n\n\ndef twice(n: int) -> int:\n    return add(n, n, 0)\n"), "!diagnostics")
	check(t, h.run("lsp_rename", object{"path": "calc.py", "symbol": "add", "new_name": "total"}),
		"Rename to total", "!ERROR")
	text, _ := os.ReadFile(filepath.Join(h.root, "main.py"))
	check(t, string(text), "from calc import total", "return total(n, n, 0)")
	h.open("main.py", "python", "missing()\n")
	check(t, h.loaded("main.py"), "\"missing\" is not defined", "    missing()")
}

// starts is a script for Node. In each Node process, it appends the arguments of every program that
// the process starts to the file STARTS, before the program runs.
const starts = `const fs = require("fs"), programs = require("child_process");
for (const name of ["spawn", "fork", "exec", "execFile", "spawnSync", "execSync", "execFileSync"]) {
  const real = programs[name];
  programs[name] = (...args) => {
    fs.appendFileSync(process.env.STARTS, JSON.stringify([name, ...args.slice(0, 2)]) + "\n");
    return real(...args);
  };
}
`

// TestTypeScriptServerReachesNoHost opens a JavaScript project whose package.json names packages.
// By default, tsserver would start a program when it starts, which lets npm download their types.
func TestTypeScriptServerReachesNoHost(t *testing.T) {
	t.Parallel()
	registry, reached := countingServer(t)
	o := realNode(t, "typescript-language-server", "typescript-language-server", "lib", "cli.mjs")
	c, home, dir := o.Servers()[0], t.TempDir(), t.TempDir()
	script, started := filepath.Join(dir, "starts.cjs"), filepath.Join(dir, "started")
	if err := os.WriteFile(script, []byte(starts), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Env = withVariables(c.Env, "HOME="+home, "XDG_CACHE_HOME="+home,
		"npm_config_registry="+registry, "NODE_OPTIONS=--require "+script, "STARTS="+started)
	o.Servers = func() []Config { return []Config{c} }
	h := newHarness(t, o, "package.json: {\"dependencies\": {\"lodash\": \"1.0.0\"}}\n",
		"main.js: const l = require(\"lodash\");\nl.map([]);\n")
	check(t, h.loaded("main.js"), "main.js: ")
	programs, err := os.ReadFile(started)
	if err != nil {
		t.Fatal(err) // nothing was recorded, not even the start of tsserver
	}
	for program := range strings.Lines(string(programs)) {
		if !strings.Contains(program, "tsserver.js") {
			t.Errorf("the server started a program: %s", program)
		}
	}
	if reached.Load() > 0 {
		t.Error("npm connected to the registry")
	}
	if exists(filepath.Join(home, "typescript")) {
		t.Error("the server created a cache of types")
	}
}

// TestPyrightWritesNoFile applies a quick fix with which pyright would write type stubs itself. No
// file may change, because every edit must be a proposal.
func TestPyrightWritesNoFile(t *testing.T) {
	t.Parallel()
	h := newHarness(t, realNode(t, "pyright", "pyright", "langserver.index.js"),
		"pyrightconfig.json: {\"reportMissingTypeStubs\": \"error\", \"venvPath\": \".\", \"venv\": \"v\"}\n",
		"v/pyvenv.cfg: home = /usr/bin\n",
		"v/lib/python3.11/site-packages/foo/__init__.py: def f(x):\n    return x\n",
		"main.py: import foo\n\nfoo.f(1)\n")
	before := h.texts()
	check(t, h.loaded("main.py"), "Stub file not found")
	at := object{"path": "main.py", "line": 1, "title": "Create Type Stub For \"foo\""}
	check(t, h.lsp("codeActions", at), "- Create Type Stub")
	check(t, h.run("lsp_action", at), "ERROR: ", "may do more than change text")
	if after := h.texts(); !maps.Equal(after, before) {
		t.Errorf("the files are now %q", after)
	}
}
