package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

func TestInitializeNegotiates(t *testing.T) {
	for name, c := range map[string]struct{ params, encoding string }{
		"utf-8 offered": {`{"capabilities":{"general":{"positionEncodings":["utf-16","utf-8"]}}}`,
			"utf-8"},
		"nothing": {`{"capabilities":{}}`, "utf-16"},
		"wrong types": {`{"processId":"x","rootPath":5,"rootUri":[],"workspaceFolders":"no",` +
			`"capabilities":{"workspace":{"workspaceEdit":{"documentChanges":"yes"}},` +
			`"window":7},"clientInfo":[],"trace":5}`, "utf-16"},
		"unknown fields": {`{"capabilities":{"general":{"x":1}},"y":{"z":[]}}`, "utf-16"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, harnessOptions{})
			m := s.answer(s.request("initialize", json.RawMessage(c.params)))
			var r struct {
				Capabilities struct {
					PositionEncoding string
					TextDocumentSync struct{ Change int }
					Experimental     struct{ AgentLsp wire.ServerCapability }
				}
				ServerInfo struct{ Name, Version string }
			}
			if err := json.Unmarshal(m.Result, &r); err != nil {
				t.Fatalf("%s: %v", m, err)
			}
			if r.Capabilities.PositionEncoding != c.encoding ||
				r.Capabilities.TextDocumentSync.Change != 2 ||
				r.ServerInfo.Name != "agent-lsp" {
				t.Errorf("answered %s", m)
			}
			if a := r.Capabilities.Experimental.AgentLsp; a.Version != 1 ||
				len(a.Methods) != len(wire.Requests) ||
				len(a.EditPolicies) != 5 {
				t.Errorf("agentLsp is %+v", a)
			}
		})
	}
}

// Every method that the server announces is handled.
func TestEveryMethodIsRouted(t *testing.T) {
	for _, m := range wire.Requests {
		if _, ok := routes[m]; !ok {
			t.Errorf("%s is announced but not handled", m)
		}
	}
}

func TestBadRequests(t *testing.T) {
	c := start(t, harnessOptions{})
	c.refused(wire.CodeNotInitialized, wire.MethodStatus, map[string]any{})
	c.initialize(t.TempDir(), map[string]any{})
	c.refused(wire.CodeInvalidRequest, "initialize", map[string]any{})
	id := c.newSession()
	for _, b := range []struct {
		code   int
		method string
		params string
		names  string
	}{
		{wire.CodeMethodNotFound, "agent/unknown", `{}`, "agent/unknown"},
		{wire.CodeMethodNotFound, "textDocument/hover", `{}`, "hover"},
		{wire.CodeInvalidParams, wire.MethodPrompt, `{"prompt":5}`, "prompt"},
		{wire.CodeInvalidParams, wire.MethodPrompt, `{"prompt":""}`, ""},
		{wire.CodeInvalidParams, wire.MethodPrompt, `{"prompt":[{"type":"text","text":7}]}`,
			"prompt"},
		{wire.CodeInvalidParams, wire.MethodPrompt, `{"prompt":[{"type":"smell"}]}`,
			"prompt[0].type"},
		{wire.CodeInvalidParams, wire.MethodPrompt, `{"prompt":"x","delivery":"now"}`, "delivery"},
		{wire.CodeInvalidParams, wire.MethodPrompt, `{"prompt":"x","sessionId":7}`, "sessionId"},
		{wire.CodeInvalidParams, wire.MethodPrompt, `[]`, "params"},
		{wire.CodeInvalidParams, wire.MethodPrompt, `{}`, "prompt"},
		{wire.CodeInvalidParams, wire.MethodAbort, `{}`, "sessionId"},
		{wire.CodeUnknownSession, wire.MethodPrompt, `{"prompt":"x","sessionId":"nope"}`, "nope"},
		{wire.CodeUnknownSession, wire.MethodAbort, `{"sessionId":"nope"}`, "nope"},
		{wire.CodeUnknownSession, wire.MethodSessionLoad, `{"sessionId":"../../etc/passwd"}`, ""},
		{wire.CodeInvalidParams, wire.MethodSessionNew, `{"cwd":"/"}`, "cwd"},
		{wire.CodeInvalidParams, wire.MethodSessionNew, `{"cwd":"relative/path"}`, "cwd"},
		{wire.CodeInvalidParams, wire.MethodSessionNew,
			`{"messages":[{"role":"tool","content":"x"}]}`, "messages[0].role"},
		{wire.CodeInvalidParams, wire.MethodSessionList, `{"limit":-1}`, "limit"},
		{wire.CodeUnknownProposal, wire.MethodProposalGet, `{"proposalId":"p"}`, "p"},
		{wire.CodeInvalidParams, wire.MethodProposalResolve,
			`{"proposalId":"p","decisions":[{"hunkId":"h","action":"maybe"}]}`,
			"decisions[0].action"},
		{wire.CodeUnknownProposal, wire.MethodProposalResolve,
			`{"proposalId":"p","decisions":[{"hunkId":"*","action":"accept"}]}`, "p"},
		{wire.CodeUnknownCheckpoint, wire.MethodCheckpointDiff, `{"checkpointId":"c"}`, "c"},
		{wire.CodeTurnMismatch, wire.MethodSteer, `{"sessionId":"` + id +
			`","prompt":"x","expectedTurnId":"t"}`, ""},
		{wire.CodeInvalidParams, wire.MethodSteer, `{"sessionId":"` + id +
			`","prompt":"x","role":"system"}`, "role"},
		{wire.CodeNotFound, wire.MethodTurnWait, `{"sessionId":"` + id + `","turnId":"t"}`, ""},
		{wire.CodeNotFound, wire.MethodJobKill, `{"jobId":"j"}`, ""},
		{wire.CodeNotFound, wire.MethodPermissionRevoke, `{"grantId":"g"}`, ""},
		{wire.CodeNotFound, wire.MethodMemoryGet, `{"key":"k"}`, ""},
	} {
		m := c.refused(b.code, b.method, json.RawMessage(b.params))
		if !strings.Contains(m.Error.Message, b.names) {
			t.Errorf("%s %s: %q does not name %s", b.method, b.params, m.Error.Message, b.names)
		}
	}
	c.call(wire.MethodStatus, map[string]any{}, nil)
}

func TestMalformedFramesAreAnsweredAndSurvived(t *testing.T) {
	c := claimed(t, harnessOptions{})
	for i, frame := range []string{
		"Content-Length: 5\r\n\r\nhello", "Content-Length: x\r\n\r\n", "nonsense\r\n\r\n",
		"Content-Length: 36\r\n\r\n" + `{"jsonrpc":"1.0","id":1,"method":"x"}`[:36],
	} {
		c.raw(frame)
		c.call(wire.MethodStatus, map[string]any{}, nil)
		n := 0
		for _, m := range c.messages() {
			if m.Error != nil && string(m.ID) == "null" {
				n++
			}
		}
		if n == 0 {
			t.Errorf("frame %d was not answered", i)
		}
	}
}

// Invalid notifications do not close the connection.
func TestOddNotificationsAreIgnored(t *testing.T) {
	c := claimed(t, harnessOptions{})
	c.notify("no/such", map[string]any{})
	c.notify(
		"textDocument/didChange",
		map[string]any{
			"textDocument":   map[string]any{"uri": "file:///nowhere.txt", "version": 1},
			"contentChanges": []any{map[string]any{"text": "x"}},
		},
	)
	c.notify("textDocument/didChange", "not an object")
	c.notify("textDocument/didClose", map[string]any{"textDocument": 5})
	c.notify("$/setTrace", map[string]any{"value": "verbose"})
	c.notify("$/cancelRequest", map[string]any{"id": map[string]any{}})
	c.call(wire.MethodStatus, map[string]any{}, nil)
	c.wait("a word in the client's log", func(m msg) bool {
		return m.Method == "window/logMessage" && strings.Contains(string(m.Params), "nowhere.txt")
	})
}

func TestPanicsAreSurvived(t *testing.T) {
	c := claimed(t, harnessOptions{core: func(core *testCore) {
		core.Models = func(context.Context, string) ([]wire.Model, error) { panic("boom") }
	}})
	m := c.refused(wire.CodeInternalError, wire.MethodModels, map[string]any{})
	if strings.Contains(m.Error.Message, "boom") {
		t.Errorf("the panic's text was sent: %s", m)
	}
	c.call(wire.MethodStatus, map[string]any{}, nil)
}

func TestProviderNotConfigured(t *testing.T) {
	c := claimed(t, harnessOptions{ready: func() error { return agent.ErrNoProvider }})
	m := c.refused(wire.CodeProviderNotConfigured, wire.MethodPrompt, map[string]any{"prompt": "x"})
	var d wire.HintData
	if err := json.Unmarshal(m.Error.Data, &d); err != nil || d.Hint == "" {
		t.Errorf("data is %s", m.Error.Data)
	}
}

func TestShutdownAndExit(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	r := c.prompt("", "work")
	<-begun
	c.call("shutdown", nil, nil)
	c.refused(wire.CodeInvalidRequest, wire.MethodStatus, map[string]any{})
	c.notify("exit", nil)
	if turn := c.turnEnd(r.TurnID); turn.Status != "aborted" {
		t.Errorf("the turn ended %+v", turn)
	}
	if err := <-c.served; err != nil {
		t.Errorf("Serve returned %v", err)
	}
	c.served <- nil
}

func TestExitWithoutShutdown(t *testing.T) {
	c := claimed(t, harnessOptions{})
	c.notify("exit", nil)
	err := <-c.served
	if !errors.Is(err, ErrNoShutdown) {
		t.Errorf("Serve returned %v", err)
	}
	c.served <- nil
}

// Requests that were read before the end of the input are answered.
func TestEndOfInputAnswersFirst(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	id := c.newSession()
	p := c.request(wire.MethodPrompt, map[string]any{"sessionId": id, "prompt": "x"})
	w := c.request(wire.MethodTurnWait, map[string]any{"sessionId": id})
	c.in.Close()
	<-c.served
	c.served <- nil
	var r wire.PromptResult
	if err := json.Unmarshal(c.answer(p).Result, &r); err != nil {
		t.Fatal(err)
	}
	c.turnEnd(r.TurnID)
	if m := c.answer(w); m.Error != nil {
		t.Errorf("the wait returned %s", m)
	}
}

func TestAClientThatNeverReadsDoesNotHoldUpTheEnd(t *testing.T) {
	root := t.TempDir()
	c := start(
		t,
		harnessOptions{stuck: true, root: root, model: says(strings.Repeat("much ", 10_000))},
	)
	body := func(v map[string]any) {
		c.send(v)
	}
	body(
		map[string]any{
			"id":     1,
			"method": "initialize",
			"params": map[string]any{
				"capabilities": map[string]any{
					"experimental": map[string]any{"agentLsp": map[string]any{}},
				},
				"rootUri": agentapi.PathToURI(root),
			},
		},
	)
	for i := range 50 {
		body(
			map[string]any{
				"id":     i + 2,
				"method": wire.MethodPrompt,
				"params": map[string]any{"prompt": "x"},
			},
		)
	}
	c.in.Close()
	select {
	case <-c.served:
		c.served <- nil
	case <-time.After(patience):
		t.Fatal("Serve hangs")
	}
}

// If a client sends requests but never reads, the connection is closed, although writes to it do
// not fail.
func TestAClientThatNeverReadsIsGivenUp(t *testing.T) {
	c := start(t, harnessOptions{stuck: true})
	s := c.server
	answer := make([]byte, jsonrpc.HardLimit/2)
	_ = s.link.Out.Put(answer)
	if _, err := c.out.(io.Reader).Read(make([]byte, 1)); err != nil { // the write is in progress
		t.Fatal(err)
	}
	for range 3 {
		_ = s.link.Out.Put(answer)
	}
	select {
	case <-s.link.Context().Done():
	case <-time.After(patience):
		t.Fatal("the connection was not closed")
	}
}

func TestDeathOfTheParentEndsTheConnection(t *testing.T) {
	if os.Getenv("RPC_TEST_SLEEP") != "" {
		_, _ = io.Copy(io.Discard, os.Stdin) // waits until the test closes stdin
		return
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestDeathOfTheParentEndsTheConnection$")
	parent.Env = append(os.Environ(), "RPC_TEST_SLEEP=1")
	stdin, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	c := start(t, harnessOptions{})
	c.call(
		"initialize",
		map[string]any{"processId": parent.Process.Pid, "capabilities": map[string]any{}},
		nil,
	)
	select {
	case <-c.served:
		t.Fatal("Serve returned while the client was running")
	default:
	}
	stdin.Close()
	_ = parent.Wait() // the exit code of the parent does not matter
	select {
	case <-c.served:
		c.served <- nil
	case <-time.After(patience):
		t.Fatal("Serve still runs after the client's exit")
	}
}

func TestAProcessThatIsDeadAtInitializeIsNotWatched(t *testing.T) {
	done := exec.Command(os.Args[0], "-test.run=^$")
	if err := done.Run(); err != nil {
		t.Fatal(err)
	}
	c := start(t, harnessOptions{})
	c.call(
		"initialize",
		map[string]any{"processId": done.Process.Pid, "capabilities": map[string]any{}},
		nil,
	)
	c.call(wire.MethodStatus, map[string]any{}, nil)
}
