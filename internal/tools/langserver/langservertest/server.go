// Package langservertest is a language server with several fault modes, for tests only. A test
// binary becomes such a server if Variable is set in its environment.
package langservertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Variable is the environment variable that makes a test binary act as a server. Its value is the
// fault mode.
const Variable = "AGENT_LSP_TEST_LSP"

// Flood messages and one more are sent in a row by a server in the mode "floods".
const Flood = 60_000

// MaybeServe serves on stdin and stdout and then exits, if Variable is set. Otherwise, it returns.
func MaybeServe() {
	if mode := os.Getenv(Variable); mode != "" {
		(&fakeServer{mode: mode, texts: map[string]string{}, in: os.Stdin,
			out: bufio.NewWriter(os.Stdout)}).serve()
		os.Exit(0)
	}
}

// message is any JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func readFrame(r *bufio.Reader) ([]byte, error) {
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			length, _ = strconv.Atoi(v)
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}

// fakeServer serves a language in which "func NAME" declares a name and "call NAME" uses it. A call
// of a name that no open file declares is an error. The modes are:
//
//   - normal
//   - full: also answers questions about implementations and calls
//   - plain: has no workspace symbols
//   - never: does not answer initialize
//   - crashes: exits when it receives the first text
//   - floods: sends more than Flood messages in a row
//   - silent: publishes no diagnostics
//   - loading: reports that it is indexing, and publishes no diagnostics
//   - old: publishes diagnostics for an older version
//   - chatty: prints text before its first message
//   - hangs: answers no query
//   - pulls: answers requests for diagnostics, and publishes none
//   - both: answers requests for diagnostics without a kind, as gopls does, and publishes the
//     same diagnostics afterwards
//   - runs: first runs the code in the workspace that real servers run
type fakeServer struct {
	mode  string
	asked bool // the client requested diagnostics
	texts map[string]string
	in    io.Reader
	out   *bufio.Writer
}

func (f *fakeServer) serve() {
	in := bufio.NewReader(f.in)
	if f.mode == "runs" {
		runWorkspace()
	}
	if f.mode == "chatty" {
		fmt.Fprintln(f.out, "Welcome!\nwarning: this is not a header")
	}
	for {
		body, err := readFrame(in)
		if err != nil {
			return
		}
		var m message
		_ = json.Unmarshal(body, &m)
		f.handle(&m)
		_ = f.out.Flush() // fails after the client has closed the connection
	}
}

// runWorkspace runs the code that real servers run: the TypeScript library, which they also find
// above the working directory, a build script, and the program named in GOFLAGS.
func runWorkspace() {
	tool := strings.TrimPrefix(os.Getenv("GOFLAGS"), "-toolexec=")
	const library = "typescript/lib/tsserver.js"
	for _, file := range []string{"node_modules/" + library, "../node_modules/" + library,
		".vscode/pnpify/" + library, "build.rs", tool} {
		if text, err := os.ReadFile(file); err == nil {
			cmd := exec.Command("sh", "-c", string(text))
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
			_ = cmd.Run()
		}
	}
}

func (f *fakeServer) send(m message) {
	m.Version = "2.0"
	body, _ := json.Marshal(m)
	fmt.Fprintf(f.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

func (f *fakeServer) reply(m *message, result any) {
	raw, _ := json.Marshal(result)
	f.send(message{ID: m.ID, Result: raw})
}

func (f *fakeServer) notify(method string, params any) {
	raw, _ := json.Marshal(params)
	f.send(message{Method: method, Params: raw})
}

type fakeParams struct {
	TextDocument struct {
		URI, Text string
		Version   int32
	}
	ContentChanges []struct{ Text string }
	Position       struct{ Line, Character int }
	Query, NewName string
}

func (f *fakeServer) handle(m *message) {
	var p fakeParams
	_ = json.Unmarshal(m.Params, &p)
	uri := p.TextDocument.URI
	if f.mode == "hangs" && m.ID != nil && m.Method != "initialize" {
		return
	}
	switch m.Method {
	case "initialize":
		if f.mode == "never" {
			return
		}
		capabilities := map[string]any{"definitionProvider": true, "referencesProvider": true,
			"hoverProvider": true, "renameProvider": true,
			"documentSymbolProvider": true, "workspaceSymbolProvider": f.mode != "plain",
			"callHierarchyProvider": map[string]any{}, "implementationProvider": f.mode == "full",
			"codeActionProvider": map[string]any{"resolveProvider": true}}
		if f.mode == "pulls" || f.mode == "both" {
			capabilities["diagnosticProvider"] = map[string]any{"interFileDependencies": true,
				"workspaceDiagnostics": false}
		}
		f.reply(m, map[string]any{"capabilities": capabilities})
	case "textDocument/didOpen":
		f.texts[uri] = p.TextDocument.Text
		f.changed(uri, p.TextDocument.Version)
	case "textDocument/didChange":
		f.texts[uri] = p.ContentChanges[0].Text
		f.changed(uri, p.TextDocument.Version)
	case "textDocument/diagnostic":
		f.pulled(m, uri)
	case "textDocument/hover":
		f.reply(m, map[string]any{"contents": map[string]string{"kind": "plaintext",
			"value": "about " + f.word(uri, p)}})
	case "textDocument/definition":
		f.reply(m, f.find("func "+f.word(uri, p)))
	case "textDocument/references":
		f.reply(m, append(f.find("func "+f.word(uri, p)), f.find("call "+f.word(uri, p))...))
	case "textDocument/documentSymbol", "workspace/symbol":
		f.reply(m, f.symbols(uri, p.Query))
	case "textDocument/prepareCallHierarchy":
		f.reply(m, []map[string]any{{"name": f.word(uri, p), "kind": 12, "uri": uri,
			"range": span(0, 0, 1), "selectionRange": span(0, 0, 1)}})
	case "textDocument/implementation":
		f.reply(m, f.find("func "+f.word(uri, p)))
	case "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls":
		f.calls(m)
	case "textDocument/codeAction", "codeAction/resolve", "workspace/executeCommand":
		f.act(m, uri)
	case "textDocument/rename":
		f.rename(m, f.word(uri, p), p.NewName)
	default:
		if m.ID != nil && m.Method != "" {
			f.send(message{ID: m.ID, Error: &rpcError{Code: -32601, Message: "unknown " +
				m.Method}})
		}
	}
}

func span(line, from, n int) map[string]any {
	return map[string]any{"start": map[string]int{"line": line, "character": from},
		"end": map[string]int{"line": line, "character": from + n}}
}

// changed publishes diagnostics as the mode requires.
func (f *fakeServer) changed(uri string, version int32) {
	switch f.mode {
	case "pulls", "both":
		return
	case "crashes":
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(2)
	case "silent":
		return
	case "loading":
		f.notify("$/progress", map[string]any{"token": "t",
			"value": map[string]string{"kind": "begin", "title": "Indexing"}})
		return
	case "floods":
		for range Flood + 1 {
			f.notify("window/logMessage", map[string]any{"type": 4, "message": "x"})
		}
	case "old":
		version = 0
	}
	f.publish(uri, version)
}

// publish publishes the diagnostics of all documents. Only the notification about uri contains a
// version.
func (f *fakeServer) publish(uri string, version int32) {
	for _, u := range f.uris() {
		params := map[string]any{"uri": u, "diagnostics": f.diagnostics(u)}
		if u == uri {
			params["version"] = version
		}
		f.notify("textDocument/publishDiagnostics", params)
	}
}

// diagnostics returns an error for each call of a name that no open document declares.
func (f *fakeServer) diagnostics(uri string) []map[string]any {
	diags := []map[string]any{}
	for i, line := range strings.Split(f.texts[uri], "\n") {
		if name, ok := strings.CutPrefix(line, "call "); ok && len(f.find("func "+name)) == 0 {
			diags = append(diags, map[string]any{"range": span(i, 5, len(name)), "severity": 1,
				"message": "undefined: " + name})
		}
	}
	return diags
}

// pulled answers a request for diagnostics. Except in the mode "both", the first response asks the
// client to repeat the request.
func (f *fakeServer) pulled(m *message, uri string) {
	if f.mode == "both" {
		f.reply(m, map[string]any{"kind": "", "items": f.diagnostics(uri)})
		f.publish("", 0)
		return
	}
	if !f.asked {
		f.asked = true
		f.send(message{ID: m.ID, Error: &rpcError{Code: -32802, Message: "not yet"}})
		return
	}
	f.reply(m, map[string]any{"kind": "full", "items": f.diagnostics(uri)})
}

// uris returns the URIs of the open documents in sorted order.
func (f *fakeServer) uris() []string { return slices.Sorted(maps.Keys(f.texts)) }

func (f *fakeServer) word(uri string, p fakeParams) string {
	lines := strings.Split(f.texts[uri], "\n")
	_, name, _ := strings.Cut(lines[min(p.Position.Line, len(lines)-1)], " ")
	return name
}

func (f *fakeServer) find(line string) []map[string]any {
	out := []map[string]any{}
	for _, u := range f.uris() {
		for i, l := range strings.Split(f.texts[u], "\n") {
			if l == line {
				out = append(out, map[string]any{"uri": u, "range": span(i, 5, len(l)-5)})
			}
		}
	}
	return out
}

func (f *fakeServer) symbols(only, query string) []map[string]any {
	out := []map[string]any{}
	for _, u := range f.uris() {
		for i, l := range strings.Split(f.texts[u], "\n") {
			if name, ok := strings.CutPrefix(l, "func "); ok && (only == "" || only == u) &&
				strings.Contains(name, query) {
				out = append(out, map[string]any{"name": name, "kind": 12,
					"location": map[string]any{"uri": u, "range": span(i, 0, len(l))}})
			}
		}
	}
	return out
}

func (f *fakeServer) rename(m *message, old, name string) {
	changes := map[string][]map[string]any{}
	for _, at := range append(f.find("func "+old), f.find("call "+old)...) {
		u := at["uri"].(string)
		changes[u] = append(changes[u], map[string]any{"range": at["range"], "newText": name})
	}
	f.reply(m, map[string]any{"changes": changes})
}

// calls answers with an empty list. In the mode "full", it answers with one call from or to the
// first line of the file.
func (f *fakeServer) calls(m *message) {
	out := []any{}
	var p struct{ Item map[string]any }
	if json.Unmarshal(m.Params, &p) == nil && f.mode == "full" {
		side := strings.TrimSuffix(strings.TrimPrefix(m.Method, "callHierarchy/"), "comingCalls")
		side = map[string]string{"in": "from"}[side]
		if side == "" {
			side = "to"
		}
		out = append(out, map[string]any{side: p.Item, "fromRanges": []any{span(0, 5, 3)}})
	}
	f.reply(m, out)
}

// act offers three ways to declare a name that an error reports as missing: with an edit, with a
// new file (which must be resolved), and with a command. It also offers a command whose kind
// indicates that it does more than edit.
func (f *fakeServer) act(m *message, uri string) {
	var p struct {
		Context struct {
			Diagnostics []struct{ Message string }
		}
		Data, Command string
		Arguments     []string
	}
	_ = json.Unmarshal(m.Params, &p)
	declare := func(uri string) map[string]any {
		return map[string]any{"changes": map[string]any{uri: []any{map[string]any{"range": span(0,
			0, 0), "newText": "func missing\n"}}}}
	}
	switch m.Method {
	case "codeAction/resolve":
		if p.Data == "" {
			f.reply(m, m.Params)
			return
		}
		at := p.Data[:strings.LastIndex(p.Data, "/")] + "/"
		f.reply(m, map[string]any{"title": "Declare it in a new file",
			"edit": map[string]any{"documentChanges": []any{
				map[string]any{"kind": "create", "uri": at + "new.fk"},
				map[string]any{"textDocument": map[string]any{"uri": at + "new.fk", "version": nil},
					"edits": []any{map[string]any{"range": span(0, 0, 0),
						"newText": "func missing\n"}}},
				map[string]any{"kind": "rename", "oldUri": at + "old.fk", "newUri": at +
					"older.fk"},
				map[string]any{"kind": "delete", "uri": at + "gone.fk"}}}})
	case "workspace/executeCommand":
		raw, _ := json.Marshal(map[string]any{"edit": declare(p.Arguments[0])})
		f.send(message{ID: json.RawMessage(`"edit"`), Method: "workspace/applyEdit", Params: raw})
		f.reply(m, nil)
	default:
		list := []any{}
		if len(p.Context.Diagnostics) > 0 {
			list = append(list,
				map[string]any{"title": "Declare it here", "kind": "quickfix",
					"edit": declare(uri)},
				map[string]any{"title": "Declare it in a new file", "kind": "quickfix",
					"data": uri},
				map[string]any{"title": "Declare it by a command", "kind": "refactor.rewrite",
					"command": map[string]any{"title": "x", "command": "declare",
						"arguments": []string{uri}}})
		}
		f.reply(m, append(list, map[string]any{"title": "Run the tests", "kind": "source.test",
			"command": map[string]any{"title": "x", "command": "test"}}))
	}
}
