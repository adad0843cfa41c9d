package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// toolFunc is a tool that is implemented by a function.
type toolFunc struct {
	name string
	run  func(ctx context.Context, call *tool.Call) (*tool.Result, error)
	on   *tool.Subject
}

func (f toolFunc) Spec() tool.Spec {
	return tool.Spec{
		Name:    f.name,
		Schema:  json.RawMessage(`{"type":"object"}`),
		Effect:  tool.Mutates,
		Timeout: -1,
	}
}
func (f toolFunc) Prepare(context.Context, *tool.Call) (*tool.Prepared, error) {
	return &tool.Prepared{Subject: f.on, Run: f.run}, nil
}

// callsOnce returns a model that in each turn calls all of the given tools in one reply, and then
// answers "done".
func callsOnce(tools ...string) fakeModel {
	var mu sync.Mutex
	calls := 0
	return func(_ context.Context, req *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if calls%2 == 0 {
			on(agent.Delta{Kind: agent.DeltaText, Text: "done"})
			return &agent.Reply{Message: message.NewText(message.RoleAssistant, "done")}, nil
		}
		m := &message.Message{Role: message.RoleAssistant}
		for i, name := range tools {
			m.Content = append(
				m.Content,
				message.Block{
					Type: message.ToolUse,
					Call: &message.ToolCall{
						ID:   fmt.Sprintf("c%d-%d", calls, i),
						Name: name,
						Args: json.RawMessage(`{}`),
					},
				},
			)
		}
		return &agent.Reply{Message: m}, nil
	}
}

// editTool returns a tool that proposes to change two lines of a file.
func editTool(core func() *agentapi.Core, path string) toolFunc {
	return toolFunc{
		name: "edit",
		run: func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
			ws := core().Workspace
			ref, err := ws.Resolve(call.Cwd, path)
			if err != nil {
				return nil, err
			}
			f, err := ws.Read(ctx, ref)
			if err != nil {
				return nil, err
			}
			text := strings.Replace(string(f.Text.Data), "one\n", "ONE\n", 1)
			text = strings.Replace(text, "nine\n", "NINE\n", 1)
			p, err := ws.Propose(ctx, workspace.ProposeRequest{
				SessionID: call.SessionID, TurnID: call.TurnID, ItemID: call.ItemID,
				Title: "Edit " + path, Policy: workspace.Ask,
				Changes: []workspace.Change{
					{Op: workspace.Modify, Ref: ref, Data: []byte(text), Base: f.SHA256},
				},
			})
			if err != nil {
				return nil, err
			}
			call.Report(tool.Update{Status: tool.StatusAwaitingReview, ProposalID: p.ID})
			wait, done := call.WaitContext(ctx)
			defer done()
			out, err := ws.Await(wait, p.ID)
			if err != nil {
				return nil, err
			}
			return &tool.Result{Text: fmt.Sprintf("%v", out)}, nil
		},
	}
}

const tenLines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

func TestAnEditIsProposedDecidedAndTold(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a.txt")
	if err := os.WriteFile(path, []byte(tenLines), 0o600); err != nil {
		t.Fatal(err)
	}
	var c *testClient
	c = claimed(
		t,
		harnessOptions{
			root:  root,
			model: callsOnce("edit"),
			tools: []tool.Tool{editTool(func() *agentapi.Core { return c.core }, "a.txt")},
		},
	)
	r := c.prompt("", "edit it")
	m, created := c.wait("the proposal", isMethod(wire.MethodProposalCreated))
	var p wire.ProposalCreated
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Proposal.Files) != 1 || len(p.Proposal.Files[0].Hunks) != 2 ||
		!strings.Contains(p.Diff, "+ONE") ||
		p.Proposal.State != "proposed" {
		t.Fatalf("proposed %s", m)
	}
	hunks := p.Proposal.Files[0].Hunks
	c.refused(wire.CodeStaleProposal, wire.MethodProposalResolve, map[string]any{
		"proposalId": p.Proposal.ProposalID, "revision": p.Proposal.Revision - 1,
		"decisions": []any{map[string]any{"hunkId": "*", "action": "accept"}}})
	resolve := c.request(wire.MethodProposalResolve, map[string]any{
		"proposalId": p.Proposal.ProposalID, "revision": p.Proposal.Revision,
		"decisions": []any{
			map[string]any{"hunkId": hunks[0].HunkID, "action": "accept"},
			map[string]any{"hunkId": "*", "action": "reject", "comment": "leave it"},
		}})
	_, answered := c.wait("the answer", isAnswer(resolve))
	_, closed := c.wait("the end of the proposal", isMethod(wire.MethodProposalClosed))
	c.turnEnd(r.TurnID)
	itemStarted, itemCompleted := placesOf(c, "toolCall")
	if !(itemStarted < created && created < answered && answered < closed &&
		closed < itemCompleted) {
		t.Errorf(
			"item started %d, proposal created %d, answer %d, proposal closed %d, item completed %d",
			itemStarted,
			created,
			answered,
			closed,
			itemCompleted,
		)
	}
	got, err := os.ReadFile(path)
	if want := strings.Replace(tenLines, "one", "ONE", 1); err != nil || string(got) != want {
		t.Errorf("the file holds %q (%v)", got, err)
	}
	checkSeq(t, c)
	checkGrammar(t, c, r.TurnID)
	var list wire.CheckpointListResult
	c.call(wire.MethodCheckpointList, map[string]any{"sessionId": r.SessionID}, &list)
	if len(list.Checkpoints) != 1 {
		t.Fatalf("checkpoints: %+v", list)
	}
	var back wire.CheckpointRestoreResult
	c.call(
		wire.MethodCheckpointRestore,
		map[string]any{"checkpointId": list.Checkpoints[0].CheckpointID},
		&back,
	)
	if got, _ := os.ReadFile(path); string(got) != tenLines || back.UndoCheckpointID == "" {
		t.Errorf("after the restore the file contains %q, answer %+v", got, back)
	}
}

// placesOf returns the positions in the log at which an item of the given type started and
// completed.
func placesOf(c *testClient, itemType string) (started, completed int) {
	started, completed = -1, -1
	for i, m := range c.messages() {
		if paramsOf2(m).Item.Type != itemType {
			continue
		}
		switch m.Method {
		case wire.MethodItemStarted:
			started = i
		case wire.MethodItemCompleted:
			completed = i
		}
	}
	return started, completed
}

func TestAbortWithdrawsAProposal(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte(tenLines), 0o600); err != nil {
		t.Fatal(err)
	}
	var c *testClient
	c = claimed(
		t,
		harnessOptions{
			root:  root,
			model: callsOnce("edit"),
			tools: []tool.Tool{editTool(func() *agentapi.Core { return c.core }, "a.txt")},
		},
	)
	r := c.prompt("", "edit it")
	c.wait("the proposal", isMethod(wire.MethodProposalCreated))
	c.call(wire.MethodAbort, map[string]any{"sessionId": r.SessionID}, nil)
	c.turnEnd(r.TurnID)
	m, closed := c.wait("the end of the proposal", isMethod(wire.MethodProposalClosed))
	if !strings.Contains(string(m.Params), `"withdrawn"`) {
		t.Errorf("closed as %s", m)
	}
	if _, completed := placesOf(c, "toolCall"); completed < closed {
		t.Error("the item completed before its proposal closed")
	}
}

// askPolicy asks the user about every call.
type askPolicy struct{ c *testClient }

func (a askPolicy) Approve(ctx context.Context, req tool.ApprovalRequest) (tool.Decision, error) {
	if req.Subject == nil {
		return tool.Decision{Allow: true}, nil
	}
	req.Waiting()
	replies := a.c.server.api.Host().Questions().Ask(ctx, []policy.Question{{
		SessionID: req.SessionID, TurnID: req.TurnID, ItemID: req.ItemID, Title: "Run make test",
		Reason:  "it is a command",
		Subject: *req.Subject, Options: []policy.Option{
			{
				ID:   "yes",
				Name: "Allow once",
				Kind: policy.AllowOnce,
			}, {ID: "no", Name: "Reject", Kind: policy.RejectOnce},
		},
	}})
	if err := context.Cause(ctx); err != nil {
		return tool.Decision{}, err
	}
	return tool.Decision{
		Allow:  replies[0].OptionID == "yes",
		Reason: "refused " + replies[0].Feedback,
	}, nil
}

func commandTool() toolFunc {
	return toolFunc{
		name: "bash",
		on: &tool.Subject{
			Kind:    tool.SubjectCommand,
			Title:   "Run make",
			Command: "make test",
			Cwd:     "/w",
		},
		run: func(context.Context, *tool.Call) (*tool.Result,
			error) {
			return &tool.Result{Text: "ran"}, nil
		},
	}
}

func asking2(t *testing.T, plain bool) *testClient {
	t.Helper()
	h := harnessOptions{
		root: t.TempDir(), model: callsOnce("bash"), tools: []tool.Tool{commandTool()},
		prompt: func(o *agent.Options, c *testClient) { o.Approver = askPolicy{c} },
	}
	if !plain {
		return claimed(t, h)
	}
	c := start(t, h)
	c.initialize(h.root, map[string]any{})
	return c
}

func TestPermissionByRequest(t *testing.T) {
	for name, tc := range map[string]struct{ reply, status string }{
		"allowed":        {`{"optionId":"yes"}`, "completed"},
		"rejected":       {`{"optionId":"no","feedback":"use make"}`, "denied"},
		"null":           {`null`, "denied"},
		"wrong shape":    {`[5]`, "denied"},
		"unknown option": {`{"optionId":"maybe"}`, "denied"},
		"cancelled":      {`{"cancelled":true}`, "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			c := asking2(t, false)
			r := c.prompt("", "run it")
			m, _ := c.wait("the question", isMethod(wire.MethodRequestPermission))
			var p wire.RequestPermissionParams
			if err := json.Unmarshal(m.Params, &p); err != nil ||
				p.Subject.Command != "make test" ||
				len(p.Options) != 2 ||
				p.RequestID == "" {
				t.Fatalf("asked %s (%v)", m, err)
			}
			c.send(map[string]any{"id": m.ID, "result": json.RawMessage(tc.reply)})
			c.turnEnd(r.TurnID)
			checkToolStatus(t, c, tc.status)
		})
	}
}

func checkToolStatus(t *testing.T, c *testClient, want string) {
	t.Helper()
	_, at := placesOf(c, "toolCall")
	if got := paramsOf2(c.messages()[at]).Item.Status; got != want {
		t.Errorf("the call is %q, want %q", got, want)
	}
}

func TestPermissionByMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		reply  map[string]any
		status string
	}{
		"allowed":  {map[string]any{"result": map[string]any{"title": "Allow"}}, "completed"},
		"rejected": {map[string]any{"result": map[string]any{"title": "Reject"}}, "denied"},
		"null":     {map[string]any{"result": nil}, "denied"},
		"not supported": {map[string]any{"error": map[string]any{"code": -32601, "message": "no"}},
			"denied"},
	} {
		t.Run(name, func(t *testing.T) {
			c := asking2(t, true)
			r := c.prompt("", "run it")
			m, _ := c.wait("the question", isMethod("window/showMessageRequest"))
			if s := string(m.Params); !strings.Contains(s, "make test") ||
				!strings.Contains(s, `"title":"Allow"`) ||
				!strings.Contains(s, `"title":"Reject"`) {
				t.Errorf("asked %s", m)
			}
			reply := map[string]any{"id": m.ID}
			for k, v := range tc.reply {
				reply[k] = v
			}
			c.send(reply)
			c.turnEnd(r.TurnID)
			checkToolStatus(t, c, tc.status)
			if name == "not supported" {
				c.wait("a notice", func(m msg) bool { return paramsOf2(m).Item.Type == "notice" })
			}
		})
	}
}

// A client that does not answer a question delays neither document changes nor an abort. After the
// abort, the client is notified that the question no longer needs an answer.
func TestAbortWhileAQuestionIsUnanswered(t *testing.T) {
	c := asking2(t, false)
	r := c.prompt("", "run it")
	m, _ := c.wait("the question", isMethod(wire.MethodRequestPermission))
	uri := agentapi.PathToURI(filepath.Join(c.core.Workspace.Roots("")[0], "b.txt"))
	c.notify(
		"textDocument/didOpen",
		map[string]any{
			"textDocument": map[string]any{
				"uri":        uri,
				"version":    1,
				"languageId": "text",
				"text":       "x",
			},
		},
	)
	c.notify(
		"textDocument/didChange",
		map[string]any{
			"textDocument":   map[string]any{"uri": uri, "version": 2},
			"contentChanges": []any{map[string]any{"text": "changed"}},
		},
	)
	c.call(wire.MethodAbort, map[string]any{"sessionId": r.SessionID}, nil)
	if text, _, _ := c.core.Workspace.TextAt(uri, nil); text != "changed" {
		t.Errorf("the document holds %q", text)
	}
	c.turnEnd(r.TurnID)
	c.wait("the cancellation", func(x msg) bool {
		return x.Method == "$/cancelRequest" && strings.Contains(string(x.Params), string(m.ID))
	})
	_, resolved := c.wait("request/resolved", isMethod(wire.MethodRequestResolved))
	if _, completed := placesOf(c, "toolCall"); completed < 0 || resolved < 0 {
		t.Error("the call was not completed")
	}
	c.send(map[string]any{"id": m.ID, "result": map[string]any{"optionId": "yes"}}) // too late
	c.call(wire.MethodStatus, map[string]any{}, nil)
	checkSeq(t, c)
}

func TestDocumentsKeepTheirOrder(t *testing.T) {
	root := t.TempDir()
	c := claimed(t, harnessOptions{root: root})
	uri := agentapi.PathToURI(filepath.Join(root, "o.txt"))
	c.notify(
		"textDocument/didOpen",
		map[string]any{"textDocument": map[string]any{"uri": uri, "version": 0, "text": ""}},
	)
	var want strings.Builder
	for i := range 500 {
		c.notify(
			"textDocument/didChange",
			map[string]any{"textDocument": map[string]any{"uri": uri, "version": i + 1},
				"contentChanges": []any{
					map[string]any{
						"range": map[string]any{
							"start": map[string]any{"line": 0, "character": 0},
							"end":   map[string]any{"line": 0, "character": 0},
						},
						"text": fmt.Sprint(i % 10),
					},
				}},
		)
		if i%7 == 0 {
			c.request(wire.MethodStatus, map[string]any{})
		}
	}
	for i := 499; i >= 0; i-- {
		fmt.Fprint(&want, i%10)
	}
	c.call(wire.MethodStatus, map[string]any{}, nil)
	if text, _, _ := c.core.Workspace.TextAt(uri, nil); text != want.String() {
		t.Errorf("the document contains %.60q…, want %.60q…", text, want.String())
	}
}
