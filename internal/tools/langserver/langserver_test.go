package langserver

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/agent/agenttest"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/langserver/langservertest"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

type harness struct {
	cwd  string // cwd of the calls, relative to the root
	t    testing.TB
	root string
	ws   *workspace.Workspace
	hub  *Hub
}

type object = map[string]any

// newHarness creates a workspace with files, given as "path: text", and a hub for it.
func newHarness(t testing.TB, o Options, files ...string) *harness {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, root: root}
	h.write(files...)
	runner, err := shell.New(shell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	h.ws = workspace.New(workspace.Options{
		Before: func(ctx context.Context, _ []string) any { return h.hub.BeforeEdit(ctx) },
		OnDisk: func(paths []string) { h.hub.FilesChanged(paths) },
		Check: func(
			ctx context.Context, session string, paths []string, seen any,
		) (string, error) {
			before, _ := seen.(Shown)
			return h.hub.AfterEdit(ctx, session, paths, before), nil
		}})
	t.Cleanup(h.ws.Close)
	h.ws.SetRoots([]string{string(uri.File(root))})
	o.Workspace, o.Runner = h.ws, runner
	if o.AfterEdit == nil {
		o.AfterEdit = func() (bool, time.Duration) { return true, patience }
	}
	h.hub = New(o)
	t.Cleanup(h.hub.Close)
	return h
}

func (h *harness) write(files ...string) {
	h.t.Helper()
	for _, f := range files {
		name, text, _ := strings.Cut(f, ": ")
		path := filepath.Join(h.root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// patience is the time that a server may take to publish diagnostics on a busy machine. A passing
// test does not take that long.
const patience = 2 * time.Minute

// speaks reports whether a fake server in this fault mode immediately publishes the diagnostics
// that a client waits for.
func speaks(mode string) bool {
	switch mode {
	case "never", "silent", "loading", "old":
		return false
	}
	return true
}

// fake returns options for a fake server in the given fault mode.
func fake(t testing.TB, mode string) Options {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Name: "fake", Command: exe,
		Env:       append(os.Environ(), langservertest.Variable+"="+mode),
		Languages: map[string]string{".fk": "fake"}, RootMarkers: []string{"fake.mod"}}
	o := Options{Servers: func() []Config { return []Config{c} }}
	if _, test := t.(*testing.T); test && speaks(mode) {
		o.StartTimeout, o.QueryTimeout, o.word, o.quiet = patience, patience, patience,
			500*time.Millisecond
	}
	return o
}

func (h *harness) run(name string, a object) string {
	h.t.Helper()
	raw, _ := json.Marshal(a)
	for _, t := range h.hub.Tools(h.propose) {
		if t.Spec().Name == name {
			res, err := agenttest.Run(context.Background(), t,
				&tool.Call{SessionID: "s", TurnID: "t", ItemID: "i",
					Cwd: filepath.Join(h.root, h.cwd), Args: raw})
			if err != nil {
				return "ERROR: " + err.Error()
			}
			return res.Text
		}
	}
	h.t.Fatalf("there is no tool %s", name)
	return ""
}

func (h *harness) lsp(op string, a object) string {
	h.t.Helper()
	if a == nil {
		a = object{}
	}
	a["operation"] = op
	return h.run("lsp", a)
}

func (h *harness) propose(ctx context.Context, _ *tool.Call, title string,
	changes []workspace.Change) (*tool.Result, error) {
	p, err := h.ws.Propose(ctx, workspace.ProposeRequest{SessionID: "s", TurnID: "t", ItemID: "i",
		Title: title, Policy: workspace.Auto, Changes: changes})
	if err != nil {
		return nil, err
	}
	out, err := h.ws.Await(ctx, p.ID)
	return &tool.Result{Text: title + ": " + out.Text}, err
}

// edit writes a file in the same way as an edit by the agent, and returns the result that the model
// receives.
func (h *harness) edit(name, text string) string {
	h.t.Helper()
	ref, err := h.ws.Resolve(h.root, name)
	if err != nil {
		h.t.Fatal(err)
	}
	res, err := h.propose(context.Background(), nil, "Edit "+name,
		[]workspace.Change{{Op: workspace.Modify, Ref: ref, Data: []byte(text)}})
	if err != nil {
		h.t.Fatal(err)
	}
	return res.Text
}

// check checks that a result contains each text. A text with the prefix "!" must not occur.
func check(t testing.TB, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if not, ok := strings.CutPrefix(w, "!"); ok == strings.Contains(got,
			strings.TrimPrefix(w, "!")) {
			t.Errorf("want %q (without: %q) in:\n%s", w, not, got)
		}
	}
}

var sample = []string{"fake.mod: ", "a.fk: func one\nfunc two\n", "b.fk: call one\ncall two\n"}

func TestOperations(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fake(t, "normal"), sample...)
	check(t, h.lsp("diagnostics", object{"path": "a.fk"}), "a.fk: clean: fake")
	check(t, h.lsp("diagnostics", object{"path": "b.fk"}), "b.fk: clean: fake")
	check(t, h.lsp("definition", object{"path": "b.fk", "line": 1, "column": 6}),
		"a.fk:1:6: func one", "by fake")
	check(t, h.lsp("references", object{"symbol": "two"}), "a.fk:2:6: func two",
		"b.fk:2:6: call two", ": 2\n")
	check(t, h.lsp("hover", object{"path": "b.fk", "symbol": "one"}), "about one")
	check(t, h.lsp("documentSymbol", object{"path": "a.fk"}), "1: function one | func one",
		"2: function two")
	check(t, h.lsp("workspaceSymbol", object{"query": "o"}), "function one a.fk:1:1: func one",
		"function two")
	check(t, h.lsp("incomingCalls", object{"path": "a.fk", "line": 1}), "no data: fake found none")
	check(t, h.lsp("implementation", object{"path": "a.fk", "line": 1}),
		"ERROR: no data: fake does not offer implementation")
	check(t, h.lsp("workspaceDiagnostics", nil), "clean: fake reports nothing in the 2 files")
}

func TestUnsavedTextCounts(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fake(t, "normal"), sample...)
	if err := h.ws.DidOpen(string(uri.File(filepath.Join(h.root, "a.fk"))), "fake", 1,
		[]byte("\nfunc ünsaved\ncall nobody\n")); err != nil {
		t.Fatal(err)
	}
	check(t, h.lsp("diagnostics", object{"path": "a.fk"}), "1 error",
		"a.fk:3:6: error: undefined: nobody", "    call nobody")
	check(t, h.lsp("workspaceSymbol", object{"query": "ünsaved"}), "a.fk:2:1: func ünsaved")
}

func TestBadPlaces(t *testing.T) {
	h := newHarness(t, fake(t, "normal"), append(sample, "c.fk: func one\n", "x.zzz: hello\n")...)
	h.lsp("diagnostics", object{"path": "a.fk"})
	h.lsp("diagnostics", object{"path": "c.fk"})
	for _, c := range []struct {
		args object
		want []string
	}{
		{object{"path": "a.fk", "line": 9}, []string{"line 9 is past the end: a.fk has 3 lines"}},
		{object{"path": "a.fk", "line": 1, "column": 99},
			[]string{"column 99 is past the end", "8 characters: func one"}},
		{object{"path": "none.fk", "line": 1}, []string{"none.fk does not exist"}},
		{object{"path": "x.zzz", "line": 1},
			[]string{"no data: no language server is known", ".zzz"}},
		{object{"path": "../../etc/passwd", "line": 1}, []string{"ERROR: "}},
		{object{}, []string{"no position is given"}},
		{object{"path": "a.fk"}, []string{"no position is given"}},
		{object{"symbol": "one"}, []string{"one is not unique: 2 symbols", "a.fk:1:1: func one",
			"c.fk:1:1: func one"}},
		{object{"symbol": "tw"}, []string{"no symbol is named tw. Similar:",
			"function two a.fk:2:1"}},
		{object{"symbol": "zzz"}, []string{"no data: no language server knows a symbol zzz"}},
		{object{"path": "a.fk", "symbol": "zzz"}, []string{"zzz does not occur in a.fk"}},
	} {
		got := h.lsp("definition", c.args)
		check(t, got, append(c.want, "ERROR: ")...)
	}
	check(t, h.lsp("fly", nil), "there is no operation")
}

func TestMissingServer(t *testing.T) {
	o := Options{Servers: func() []Config {
		return []Config{{Name: "gone", Command: "no-such-server", Env: os.Environ(),
			Languages: map[string]string{".fk": "fake"}, RootMarkers: []string{"fake.mod"}}}
	}}
	h := newHarness(t, o, sample...)
	check(t, h.lsp("diagnostics", object{"path": "a.fk"}), "ERROR: no data",
		"no-such-server is not installed")
	check(t, h.lsp("workspaceDiagnostics", nil), "ERROR: no data: no language server runs")
	check(t, h.edit("a.fk", "func one\n"), "!diagnostics")
}

func TestFaultModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode string
		want []string
	}{
		{"never", []string{"ERROR: ", "has stopped: it was not ready within"}},
		{"crashes", []string{"ERROR: ", "has stopped: it ended; it said: panic: out of luck"}},
		{"floods", []string{"ERROR: ", "it sent more than"}},
		{"silent", []string{"no data: fake has published nothing",
			"does not mean that it is clean"}},
		{"loading", []string{"not ready: fake is still busy (Indexing)"}},
		{"old", []string{"of an older text: version 0 of 1", "undefined: one"}},
		{"chatty", []string{"b.fk:1:6: error: undefined: one"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			o := fake(t, c.mode)
			if c.mode == "never" {
				o.StartTimeout = 100 * time.Millisecond
			}
			if c.mode == "floods" {
				o.flood = 2000 // so that a busy machine sends enough messages within floodWindow
			}
			h := newHarness(t, o, sample...)
			check(t, h.lsp("diagnostics", object{"path": "b.fk"}), c.want...)
			if c.mode == "crashes" {
				for range maxStarts {
					h.lsp("diagnostics", object{"path": "b.fk"})
				}
				check(t, h.lsp("diagnostics", object{"path": "b.fk"}),
					"failed 3 times and is not started again")
			}
		})
	}
}

func TestAfterEdit(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fake(t, "normal"), sample...)
	// No server is running yet, and the edit must not start one.
	check(t, h.edit("a.fk", "func one\nfunc two\n\n"), "!diagnostics")
	if n := len(h.hub.running()); n != 0 {
		t.Fatalf("an edit started %d servers", n)
	}
	h.lsp("diagnostics", object{"path": "a.fk"})
	h.lsp("diagnostics", object{"path": "b.fk"})
	check(t, h.edit("a.fk", "func one\ncall nobody\n"), "new diagnostics after this edit, by fake",
		"a.fk:2:6: error: undefined: nobody", "b.fk:2:6: error: undefined: two", "    call two",
		"!undefined: one")
	check(t, h.edit("a.fk", "\nfunc one\ncall nobody\n"), "!diagnostics")
	check(t, h.edit("a.fk", "\nfunc one\nfunc two\ncall someone\n"), "undefined: someone",
		"!undefined: two", "!nobody")
	h.hub.opt.AfterEdit = func() (bool, time.Duration) { return false, 0 }
	check(t, h.edit("a.fk", "call other\n"), "!diagnostics")
}

// TestPulledDiagnostics requests diagnostics from a server that publishes none, for the edited file
// and for other files that the edit broke.
func TestPulledDiagnostics(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fake(t, "pulls"), sample...)
	check(t, h.lsp("diagnostics", object{"path": "a.fk"}), "a.fk: clean: fake")
	check(t, h.lsp("diagnostics", object{"path": "b.fk"}), "b.fk: clean: fake")
	check(t, h.edit("a.fk", "func one\ncall nobody\n"), "new diagnostics after this edit, by fake",
		"a.fk:2:6: error: undefined: nobody", "b.fk:2:6: error: undefined: two")
	check(t, h.lsp("workspaceDiagnostics", nil), "2 diagnostics in 2 files, by fake")
	check(t, h.lsp("codeActions", object{"path": "b.fk", "line": 2}),
		"- Declare it here (quickfix)")
	check(t, h.edit("a.fk", "func one\nfunc two\n"), "!diagnostics")
	check(t, h.lsp("workspaceDiagnostics", nil), "clean: fake reports nothing in the 2 files")
}

// TestPulledAndPublishedDiagnostics requests diagnostics from a server that also publishes the same
// ones later. Each diagnostic must be reported once, for the current text.
func TestPulledAndPublishedDiagnostics(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fake(t, "both"), sample...)
	check(t, h.lsp("diagnostics", object{"path": "a.fk"}), "a.fk: clean: fake")
	check(t, h.lsp("diagnostics", object{"path": "b.fk"}), "b.fk: clean: fake")
	broken := h.edit("a.fk", "func one\ncall nobody\n")
	check(t, broken, "new diagnostics after this edit, by fake",
		"a.fk:2:6: error: undefined: nobody", "b.fk:2:6: error: undefined: two")
	if n := strings.Count(broken, "undefined"); n != 2 {
		t.Errorf("two are reported %d times: %s", n, broken)
	}
	check(t, h.lsp("diagnostics", object{"path": "a.fk"}), "a.fk: 1 error, by fake")
	check(t, h.lsp("workspaceDiagnostics", nil), "2 diagnostics in 2 files, by fake")
	check(t, h.edit("a.fk", "func one\nfunc two\n"), "!diagnostics")
	check(t, h.lsp("diagnostics", object{"path": "a.fk"}), "a.fk: clean: fake")
	check(t, h.lsp("workspaceDiagnostics", nil), "clean: fake reports nothing in the 2 files")
}

func TestAfterEditOfAServerThatIsLate(t *testing.T) {
	t.Parallel()
	o := fake(t, "silent")
	o.AfterEdit = func() (bool, time.Duration) { return true, 50 * time.Millisecond }
	h := newHarness(t, o, sample...)
	h.lsp("documentSymbol", object{"path": "a.fk"})
	check(t, h.edit("a.fk", "call nobody\n"), "fake has not answered for this version yet")
}

func TestRename(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fake(t, "normal"), sample...)
	h.lsp("diagnostics", object{"path": "b.fk"})
	got := h.run("lsp_rename", object{"path": "a.fk", "symbol": "one", "new_name": "eins"})
	check(t, got, "Rename to eins (func one)", "!ERROR")
	for name, want := range map[string]string{"a.fk": "func eins\nfunc two\n",
		"b.fk": "call eins\ncall two\n"} {
		if text, _ := os.ReadFile(filepath.Join(h.root, name)); string(text) != want {
			t.Errorf("%s is %q", name, text)
		}
	}
	check(t, h.run("lsp_rename", object{"path": "a.fk", "symbol": "two"}), "ERROR: no new_name")
}

// TestCodeActions lists code actions and applies them: one that contains its edit, one that must be
// resolved and creates, renames and deletes files, and one whose command requests the edit.
func TestCodeActions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		want  map[string]string // "" if the file is deleted
	}{
		{"declare it here", map[string]string{"b.fk": "func missing\ncall missing\n"}},
		{"new file", map[string]string{"new.fk": "func missing\n", "older.fk": "func old\n",
			"old.fk": "", "gone.fk": ""}},
		{"Declare it by a command", map[string]string{"b.fk": "func missing\ncall missing\n"}},
	} {
		t.Run(c.title, func(t *testing.T) {
			h := newHarness(t, fake(t, "normal"), "fake.mod: ", "b.fk: call missing\n",
				"old.fk: func old\n", "gone.fk: func gone\n")
			check(t, h.lsp("codeActions", object{"path": "b.fk", "line": 1}),
				"b.fk:1:1: code actions from fake", "    call missing",
				"- Declare it here (quickfix)", "- Declare it in a new file (quickfix)",
				"- Run the tests (source.test)")
			check(t, h.run("lsp_action", object{"path": "b.fk", "line": 1, "title": c.title}),
				"!ERROR", "Declare it")
			for name, want := range c.want {
				text, err := os.ReadFile(filepath.Join(h.root, name))
				if string(text) != want || want == "" && err == nil {
					t.Errorf("%s is %q, %v", name, text, err)
				}
			}
		})
	}
	h := newHarness(t, fake(t, "normal"), "fake.mod: ", "b.fk: call missing\nfunc fine\n")
	check(t, h.run("lsp_action", object{"path": "b.fk", "line": 1, "title": "declare"}),
		"ERROR: no single action has the title", "- Declare it here\n- Declare it in")
	check(t, h.run("lsp_action", object{"path": "b.fk", "line": 1, "title": "run the tests"}),
		"ERROR: ", "may do more than change text")
	check(t, h.run("lsp_action", object{"path": "b.fk", "line": 1, "title": "new file"}),
		"ERROR: the server's edit renames old.fk, which is not a file", "Nothing was changed.")
	check(t, h.lsp("codeActions", object{"path": "b.fk", "line": 2}), "- Run the tests", "!Declare")
	check(t, h.lsp("codeActions", object{"path": "b.fk", "line": 1, "end_line": 99}),
		"ERROR: line 99 is past the end")
}

// TestRefusalsFromBelow checks that, if the cwd is a subfolder, errors name files relative to it.
func TestRefusalsFromBelow(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fake(t, "normal"), "fake.mod: ", "sub/b.fk: call missing\n")
	h.cwd = "sub"
	check(t, h.run("lsp_action", object{"path": "b.fk", "line": 1, "title": "new file"}),
		"ERROR: the server's edit renames old.fk, which is not a file", "!sub/old.fk",
		"Nothing was changed.")
	check(t, h.run("lsp_rename", object{"path": "b.fk", "line": 9, "new_name": "x"}),
		"ERROR: line 9 is past the end: b.fk has", "Nothing was changed.")
}

// TestEditorAnswers checks that the editor is asked first, and a server only if the editor has no
// answer.
func TestEditorAnswers(t *testing.T) {
	t.Parallel()
	o := fake(t, "normal")
	var asked []string
	broken := false
	var h *harness
	o.Query = func(_ context.Context, q Question) (json.RawMessage, error) {
		op, u := q.Operation, q.URI
		asked = append(asked, op)
		switch {
		case op == "diagnostics" && u == "" && broken:
			return json.RawMessage(`{"` + string(uri.File(filepath.Join(h.root, "b.fk"))) +
				`":[{"range":{"start":{"line":0,"character":5}},"severity":1,"message":"no such ` +
				`one"}]}`), nil
		case op == "diagnostics":
			return json.RawMessage(`[]`), nil
		case op == "documentSymbol":
			broken = true // the editor's server has received the edit
			return json.RawMessage(`[]`), nil
		case op == "hover":
			return json.RawMessage(`{"contents":["from the editor",{"language":"x","value":"y"}]}`),
				nil
		}
		return nil, ErrNotOffered
	}
	h = newHarness(t, o, sample...)
	check(t, h.lsp("hover", object{"path": "a.fk", "line": 1}), "by the editor",
		"from the editor\n\ny")
	if n := len(h.hub.running()); n != 0 {
		t.Errorf("%d servers are running although the editor answers", n)
	}
	check(t, h.edit("a.fk", "func zwei\n"), "new diagnostics after this edit, by the editor",
		"b.fk:1:6: error: no such one", "    call one")
	check(t, h.lsp("definition", object{"path": "b.fk", "line": 1}), "fake found none")
	if len(asked) == 0 || asked[0] != "hover" {
		t.Errorf("asked %q", asked)
	}
}

// If two edits run at the same time, each of them reports only the errors that it caused.
func TestEditsBesideEachOther(t *testing.T) {
	t.Parallel()
	var h *harness
	var before sync.WaitGroup
	before.Add(2)
	o := Options{Query: func(_ context.Context, q Question) (json.RawMessage, error) {
		if q.Settle == nil || len(q.Settle.URIs) == 0 {
			before.Done()
			// The existing errors are recorded for both edits before either of them is applied.
			before.Wait()
			return json.RawMessage(`{}`), nil
		}
		return json.RawMessage(`{"` + q.Settle.URIs[0] +
			`":[{"range":{},"severity":1,"message":"broken"}],"settled":true}`), nil
	}}
	h = newHarness(t, o, "a.txt: a\n", "b.txt: b\n")
	var both sync.WaitGroup
	for _, name := range []string{"a.txt", "b.txt"} {
		both.Go(func() {
			check(t, h.edit(name, "c\n"), "new diagnostics after this edit", name+
				":1:1: error: broken")
		})
	}
	both.Wait()
}

// TestClosed checks that closing the hub stops the servers.
func TestClosed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fake(t, "normal"), sample...)
	h.lsp("diagnostics", object{"path": "a.fk"})
	h.hub.Close()
	if n := len(h.hub.running()); n != 0 {
		t.Errorf("%d servers outlive the hub", n)
	}
	check(t, h.lsp("diagnostics", object{"path": "a.fk"}), "ERROR: the daemon is shutting down")
}

// Once a server has reported diagnostics for the newest text, those that it published for an older
// text are ignored.
func TestOutdatedPublicationsDoNotCount(t *testing.T) {
	said := func(text string) []diagnostic {
		return []diagnostic{{Severity: 1, Message: json.RawMessage(`"` + text + `"`)}}
	}
	at := func(v int32) *int32 { return &v }
	for name, c := range map[string]struct {
		push *published
		open *document
		want string
	}{
		"of this version": {&published{version: at(3), items: said("flycheck")},
			&document{version: 3}, "answer flycheck"},
		"of an older version": {&published{version: at(2), items: said("old")},
			&document{version: 3}, "answer"},
		"before the text changed": {&published{seq: 5, items: said("old")},
			&document{version: 3, since: 5}, "answer"},
		"after the text changed": {&published{seq: 6, items: said("flycheck")},
			&document{version: 3, since: 5}, "answer flycheck"},
		"before the file was open": {&published{seq: 5, items: said("flycheck")},
			&document{version: 1, since: 5}, "answer flycheck"},
		"of a file that is closed": {&published{version: at(2), items: said("flycheck")}, nil,
			"answer flycheck"},
		"the same as it answered": {&published{version: at(3), items: said("answer")},
			&document{version: 3}, "answer"},
		"nothing beside the answer": {nil, &document{version: 3}, "answer"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{open: openDocuments{docs: map[string]*document{}},
				problems: problems{diags: map[string]*published{},
					pulled: map[string]*published{"f": {version: at(3), items: said("answer")}}}}
			if c.open != nil {
				s.open.docs["f"] = c.open
			}
			if c.push != nil {
				s.problems.diags["f"] = c.push
			}
			var got []string
			for _, d := range s.last("f").items {
				got = append(got, d.text())
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("it says %q, not %q", got, c.want)
			}
		})
	}
}
