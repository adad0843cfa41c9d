package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// fuzzed returns the methods that FuzzRequests calls, in a fixed order: all known methods except
// those that end the connection.
func fuzzed() []string {
	all := append(slices.Collect(maps.Keys(routes)), slices.Collect(maps.Keys(notices))...)
	slices.Sort(all)
	return slices.DeleteFunc(
		all,
		func(m string) bool { return m == conn.MethodExit || m == conn.MethodShutdown },
	)
}

// errorLog collects the log entries of level error, which include panics.
type errorLog struct {
	slog.Handler
	mu   sync.Mutex
	text bytes.Buffer
}

func newErrorLog() *errorLog {
	l := &errorLog{}
	l.Handler = slog.NewTextHandler(&l.text, &slog.HandlerOptions{Level: slog.LevelError})
	return l
}

func (l *errorLog) Handle(ctx context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Handler.Handle(ctx, r)
}

func (l *errorLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// FuzzRequests checks that each request in any state gets a response, that no response is an
// internal error, that no error is logged, and that the server stops at the end of its input. Each
// input line consists of a byte that selects a method, and the params. In the params, $S is a
// session with a turn that waits for a decision, $T is that turn, $P its proposal and $U the
// document.
func FuzzRequests(f *testing.F) {
	methods := fuzzed()
	line := func(method, params string) string {
		return string(rune(' '+slices.Index(methods, method))) + params + "\n"
	}
	for _, m := range methods {
		f.Add(
			line(
				m,
				`{}`,
			) + line(
				m,
				`{"sessionId":"$S"}`,
			) + line(
				m,
				`[]`,
			) + line(
				m,
				`{"sessionId":5}`,
			),
		)
	}
	for _, s := range fuzzSeeds {
		script := ""
		for _, call := range strings.Split(strings.TrimSpace(s), "\n") {
			method, params, _ := strings.Cut(strings.TrimSpace(call), " ")
			if !slices.Contains(methods, method) {
				f.Fatalf("there is no method %s", method)
			}
			script += line(method, params)
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) { fuzzRequests(t, methods, script) })
}

var fuzzSeeds = []string{
	`agent/prompt {"sessionId":"$S","prompt":"more","delivery":"queue","clientMessageId":"c1"}
	agent/prompt {"sessionId":"$S","prompt":[{"type":"text","text":"x"},` +
		`{"type":"resource","uri":"$U","range":{"start":{"line":1,"character":0},` +
		`"end":{"line":9,"character":99}}}]}
	agent/steer {"sessionId":"$S","prompt":"aside","expectedTurnId":"$T"}
	agent/queue/list {"sessionId":"$S"}
	agent/queue/clear {"sessionId":"$S"}
	agent/abort {"sessionId":"$S"}
	agent/turn/wait {"sessionId":"$S","timeoutMs":50}
	agent/continue {"sessionId":"$S"}`,
	`agent/proposal/list {"sessionId":"$S"}
	agent/proposal/get {"proposalId":"$P"}
	agent/proposal/resolve {"proposalId":"$P","revision":1,"decisions":[{"hunkId":"*",` +
		`"action":"accept","newText":"other\n","comment":"so"}]}
	agent/proposal/resolve {"proposalId":"$P","decisions":[{"hunkId":"h1","action":"reject"},` +
		`{"hunkId":"h1","action":"accept"}]}
	textDocument/didChange {"textDocument":{"uri":"$U","version":2},"contentChanges":[{"range":{` +
		`"start":{"line":0,"character":1},"end":{"line":3,"character":0}},"text":"zwei\n"}]}
	textDocument/codeLens {"textDocument":{"uri":"$U"}}
	textDocument/codeAction {"textDocument":{"uri":"$U"},` +
		`"range":{"start":{"line":0,"character":0},"end":{"line":99,"character":4294967295}},` +
		`"context":{"diagnostics":[]}}
	workspace/executeCommand {"command":"agent.accept","arguments":[{"textDocument":{` +
		`"uri":"$U"},"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}]}
	workspace/executeCommand {"command":"agent.showDiff"}
	workspace/textDocumentContent {"uri":"agent-proposed:/$P.diff"}
	textDocument/didClose {"textDocument":{"uri":"$U"}}`,
	`agent/session/update {"sessionId":"$S","title":"t","archived":true,"pin":["x"]}
	agent/session/configure {"sessionId":"$S","config":{"model":"m","editPolicy":"auto"}}
	agent/session/fork {"sessionId":"$S"}
	agent/session/export {"sessionId":"$S","format":"markdown"}
	agent/session/load {"sessionId":"$S","replay":true,"sinceSeq":3}
	agent/session/import {"data":{"type":"session"}}
	agent/session/list {"query":"t","limit":5}
	agent/session/delete {"sessionId":"$S"}
	agent/checkpoint/list {"sessionId":"$S"}
	agent/checkpoint/restore {"checkpointId":"x"}
	agent/compact {"sessionId":"$S"}
	agent/memory/save {"text":"x"}`,
	`textDocument/didOpen {"textDocument":{"uri":"$U","languageId":"txt","version":7,` +
		`"text":"again\n"}}
	textDocument/didChange {"textDocument":{"uri":"file:///gone","version":-1},"contentChanges":[{"text":""}]}
	workspace/didChangeWatchedFiles {"changes":[{"uri":"$U","type":3},` +
		`{"uri":"untitled:1","type":9}]}
	workspace/didRenameFiles {"files":[{"oldUri":"$U","newUri":"file:///elsewhere"}]}
	workspace/didChangeWorkspaceFolders {"event":{"added":[{"uri":"file:///","name":""}],"removed":[]}}
	workspace/didChangeConfiguration {"settings":{"agentLsp":{"model":5}}}
	$/cancelRequest {"id":1}
	initialize {"capabilities":{}}`,
}

func fuzzRequests(t *testing.T, methods []string, script string) {
	root, log := t.TempDir(), newErrorLog()
	path := filepath.Join(root, "a.txt")
	if err := os.WriteFile(path, []byte(tenLines), 0o600); err != nil {
		t.Fatal(err)
	}
	var c *testClient
	c = claimed(
		t,
		harnessOptions{
			root:   root,
			model:  callsOnce("edit"),
			tools:  []tool.Tool{editTool(func() *agentapi.Core { return c.core }, "a.txt")},
			opts:   func(o *Options) { o.Log = slog.New(log) },
			core:   func(core *testCore) { core.ViewDir = filepath.Join(root, ".views") },
			answer: func(m msg) any { return map[string]any{"applied": false, "declined": true} },
		},
	)
	c.notify(
		conn.MethodDidOpen,
		map[string]any{
			"textDocument": map[string]any{
				"uri":        agentapi.PathToURI(path),
				"languageId": "text",
				"version":    1,
				"text":       tenLines,
			},
		},
	)
	turn := c.prompt("", "edit it")
	m, _ := c.wait("the proposal", isMethod(wire.MethodProposalCreated))
	var p wire.ProposalCreated
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer(
		"$S",
		turn.SessionID,
		"$T",
		turn.TurnID,
		"$P",
		p.Proposal.ProposalID,
		"$U",
		agentapi.PathToURI(path),
	)
	asked := map[string]string{}
	for _, line := range strings.SplitN(script, "\n", 30) {
		if line == "" {
			continue
		}
		method, params := methods[int(line[0]-' ')%len(methods)], fill.Replace(line[1:])
		if !json.Valid([]byte(params)) {
			continue // FuzzStream covers invalid JSON
		}
		if notices[method] != nil {
			c.notify(method, json.RawMessage(params))
			continue
		}
		asked[strconv.Itoa(c.request(method, json.RawMessage(params)))] = method + " " + params
	}
	c.close()
	for _, m := range c.messages() {
		if m.Method != "" {
			continue
		}
		if m.Error != nil && m.Error.Code == wire.CodeInternalError {
			t.Errorf("%s was answered by %s", asked[string(m.ID)], m)
		}
		delete(asked, string(m.ID))
	}
	for _, what := range asked {
		t.Errorf("%s was not answered", what)
	}
	if s := log.String(); s != "" {
		t.Errorf("the log says %s", s)
	}
}
