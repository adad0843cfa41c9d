package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// lastSeqOf returns the highest sequence number that a client has received.
func lastSeqOf(c *testClient) (last int64) {
	for _, m := range c.messages() {
		if p := paramsOf2(m); !p.Replay && p.Seq > last {
			last = p.Seq
		}
	}
	return last
}

func TestSessionsSurviveARestart(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	c := claimed(t, harnessOptions{dir: dir, root: root, model: says("the answer is 42")})
	r := c.prompt("", "what is the answer?\nplease")
	c.turnEnd(r.TurnID)
	c.wait(
		"idle",
		func(m msg) bool { return strings.Contains(string(m.Params), `"status":"idle"`) },
	)
	c.close()
	c.served <- nil
	before := lastSeqOf(c)

	d := claimed(t, harnessOptions{dir: dir, root: root})
	var list wire.SessionListResult
	d.call(wire.MethodSessionList, map[string]any{"query": "answer"}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != r.SessionID ||
		!strings.HasPrefix(list.Sessions[0].Title, "what is the answer?") {
		t.Fatalf("listed %+v", list)
	}
	load := d.request(
		wire.MethodSessionLoad,
		map[string]any{"sessionId": r.SessionID, "replay": true},
	)
	m, answered := d.wait("the answer", isAnswer(load))
	var loaded wire.SessionLoadResult
	if err := json.Unmarshal(m.Result, &loaded); err != nil || loaded.LastSeq != before {
		t.Fatalf("loaded %s (%v), want lastSeq %d", m, err, before)
	}
	checkReplay(t, d, answered, []string{"userMessage", "assistantMessage"})
	next := d.prompt(r.SessionID, "again")
	d.turnEnd(next.TurnID)
	live, _ := d.wait("something live", func(m msg) bool {
		p := paramsOf2(m)
		return strings.HasPrefix(m.Method, "agent/") && !p.Replay && p.SessionID == r.SessionID
	})
	if p := paramsOf(t, live); p.Seq != before+1 {
		t.Errorf("live notifications continue at %d, want %d", p.Seq, before+1)
	}
}

// The text blocks of a message are shown to the user separately and are sent to the model
// unchanged.
func TestTextBlocksOfAMessageStandApart(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	var sent []string
	model := fakeModel(
		func(ctx context.Context, req *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
			for _, b := range req.Messages[0].Content {
				sent = append(sent, b.Text)
			}
			return says("yes")(ctx, req, on)
		},
	)
	c := claimed(t, harnessOptions{dir: dir, root: root, model: model})
	var r wire.PromptResult
	c.call(wire.MethodPrompt, map[string]any{"prompt": []any{
		map[string]any{
			"type": "text",
			"text": "first",
		}, map[string]any{"type": "text", "text": "second\n"},
		map[string]any{"type": "text", "text": "third"},
	}}, &r)
	c.turnEnd(r.TurnID)
	if !slices.Equal(sent, []string{"first", "second\n", "third"}) {
		t.Errorf("the model got %q", sent)
	}
	ofUser := func(m msg) bool {
		return m.Method == wire.MethodItemCompleted && paramsOf2(m).Item.Type == "userMessage"
	}
	const want = "first\n\nsecond\nthird"
	if m, _ := c.wait("the message", ofUser); *paramsOf(t, m).Item.Text != want {
		t.Errorf("shown as %q", *paramsOf(t, m).Item.Text)
	}
	c.close()
	c.served <- nil
	d := claimed(t, harnessOptions{dir: dir, root: root})
	var loaded wire.SessionLoadResult
	d.call(
		wire.MethodSessionLoad,
		map[string]any{"sessionId": r.SessionID, "replay": true},
		&loaded,
	)
	if m, _ := d.wait("the message", ofUser); *paramsOf(t, m).Item.Text != want {
		t.Errorf("replayed as %q", *paramsOf(t, m).Item.Text)
	}
	if loaded.Session.Title != "first second third" {
		t.Errorf("the title is %q", loaded.Session.Title)
	}
}

// checkReplay checks that exactly these items were replayed before the response, with increasing
// sequence numbers.
func checkReplay(t *testing.T, c *testClient, answered int, types []string) {
	t.Helper()
	var got []string
	last := int64(0)
	for i, m := range c.messages() {
		p := paramsOf2(m)
		if !p.Replay || m.Method != wire.MethodItemCompleted {
			continue
		}
		if i > answered || p.Seq <= last {
			t.Errorf("%s is out of order", m)
		}
		last = p.Seq
		got = append(got, p.Item.Type)
	}
	if strings.Join(got, " ") != strings.Join(types, " ") {
		t.Errorf("replayed %v, want %v", got, types)
	}
}

func TestLoadTellsOpenItemsProposalsAndQuestionsAgain(t *testing.T) {
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
	load := c.request(
		wire.MethodSessionLoad,
		map[string]any{"sessionId": r.SessionID, "replay": true},
	)
	_, answered := c.wait("the answer", isAnswer(load))
	item, proposal := false, false
	for _, m := range c.messages()[:answered] {
		p := paramsOf2(m)
		item = item || p.Replay && m.Method == wire.MethodItemStarted && p.Item.Type == "toolCall"
		proposal = proposal || p.Replay && m.Method == wire.MethodProposalCreated
	}
	if !item || !proposal {
		t.Errorf("open item reported again: %v, proposal: %v\n%s", item, proposal, c.dump())
	}

	q := asking2(t, false)
	r = q.prompt("", "run it")
	first, _ := q.wait("the question", isMethod(wire.MethodRequestPermission))
	q.call(wire.MethodSessionLoad, map[string]any{"sessionId": r.SessionID, "replay": true}, nil)
	again, _ := q.wait("the question again", func(m msg) bool {
		return m.Method == wire.MethodRequestPermission && string(m.ID) != string(first.ID)
	})
	if string(again.Params) != string(first.Params) {
		t.Errorf("asked again %s, first %s", again, first)
	}
	q.send(map[string]any{"id": again.ID, "result": map[string]any{"optionId": "yes"}})
	q.turnEnd(r.TurnID)
	checkToolStatus(t, q, "completed")
}

func TestLoadInTheMiddleOfAnAnswer(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	r := c.prompt("", "work")
	<-begun
	c.wait("a delta", isMethod(wire.MethodDelta))
	c.call(wire.MethodSessionLoad, map[string]any{"sessionId": r.SessionID, "replay": true}, nil)
	m, _ := c.wait("the open item", func(m msg) bool {
		p := paramsOf2(m)
		return p.Replay && m.Method == wire.MethodItemStarted && p.Item.Type == "assistantMessage"
	})
	if p := paramsOf(t, m); *p.Item.Text != "thinking" {
		t.Errorf("the open item contains %q", *p.Item.Text)
	}
	checkSeq(t, c)
	c.call(wire.MethodAbort, map[string]any{"sessionId": r.SessionID}, nil)
	c.turnEnd(r.TurnID)
	before := len(c.messages())
	c.call(wire.MethodSessionLoad, map[string]any{"sessionId": r.SessionID, "replay": true}, nil)
	for _, m := range c.messages()[before:] {
		if m.Method == wire.MethodItemStarted {
			t.Errorf("an item remains open: %s", m)
		}
	}
}

func TestSessionRequests(t *testing.T) {
	c := claimed(t, harnessOptions{})
	r := c.prompt("", "hello there")
	c.turnEnd(r.TurnID)
	c.call(wire.MethodTurnWait, map[string]any{"sessionId": r.SessionID}, nil)
	var updated wire.SessionUpdateResult
	c.call(
		wire.MethodSessionUpdate,
		map[string]any{"sessionId": r.SessionID, "title": "New title", "archived": true},
		&updated,
	)
	if updated.Session.Title != "New title" || !updated.Session.Archived {
		t.Errorf("updated %+v", updated)
	}
	var list wire.SessionListResult
	c.call(wire.MethodSessionList, map[string]any{"archived": true}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].Title != "New title" {
		t.Errorf("archived sessions: %+v", list)
	}
	var configured wire.SessionConfigureResult
	c.call(
		wire.MethodSessionConfigure,
		map[string]any{"sessionId": r.SessionID, "config": map[string]any{"model": "m2"}},
		&configured,
	)
	if !strings.Contains(string(configured.Config), `"m2"`) {
		t.Errorf("configured %s", configured.Config)
	}
	c.wait("the configuration", func(m msg) bool {
		return m.Method == wire.MethodSessionUpdated && strings.Contains(string(m.Params), `"m2"`)
	})
	c.refused(
		wire.CodeInvalidParams,
		wire.MethodSessionConfigure,
		map[string]any{"sessionId": r.SessionID, "config": 5},
	)

	var fork, imported wire.SessionResult
	c.call(wire.MethodSessionFork, map[string]any{"sessionId": r.SessionID}, &fork)
	var exported wire.SessionExportResult
	c.call(
		wire.MethodSessionExport,
		map[string]any{"sessionId": fork.SessionID, "format": "json"},
		&exported,
	)
	c.call(wire.MethodSessionImport, map[string]any{"content": exported.Content}, &imported)
	c.call(
		wire.MethodSessionExport,
		map[string]any{"sessionId": imported.SessionID, "format": "markdown"},
		&exported,
	)
	if !strings.Contains(exported.Content, "hello there") ||
		!strings.Contains(exported.Content, "hello world") {
		t.Errorf("the imported session reads %s", exported.Content)
	}
	c.refused(
		wire.CodeInvalidParams,
		wire.MethodSessionImport,
		map[string]any{"content": "nonsense"},
	)
	c.call(wire.MethodSessionDelete, map[string]any{"sessionId": r.SessionID}, nil)
	c.refused(
		wire.CodeUnknownSession,
		wire.MethodSessionLoad,
		map[string]any{"sessionId": r.SessionID},
	)
}

func TestPauseHoldsAndResumeGoesOn(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	c := claimed(t, harnessOptions{dir: dir, root: root})
	id := c.newSession()
	c.call(wire.MethodSessionPause, map[string]any{"sessionId": id}, nil)
	if r := c.prompt(id, "wait"); r.Disposition != "queued" {
		t.Errorf("a paused session answered %+v", r)
	}
	c.refused(wire.CodePaused, wire.MethodContinue, map[string]any{"sessionId": id})
	c.close()
	c.served <- nil
	d := claimed(t, harnessOptions{dir: dir, root: root})
	d.refused(wire.CodePaused, wire.MethodContinue, map[string]any{"sessionId": id})
	d.call(wire.MethodSessionResume, map[string]any{"sessionId": id}, nil)
	d.call(wire.MethodContinue, map[string]any{"sessionId": id}, nil)
	d.wait("a turn", isMethod(wire.MethodTurnCompleted))
}

func TestBusySessionsRefuse(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	r := c.prompt("", "work")
	<-begun
	for _, method := range []string{wire.MethodContinue, wire.MethodSessionDelete} {
		c.refused(wire.CodeNotIdle, method, map[string]any{"sessionId": r.SessionID})
	}
}

// If two daemons open the same session, the second one can read it but not write to it.
func TestASessionOfAnotherDaemonIsLocked(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	c := claimed(t, harnessOptions{dir: dir, root: root})
	r := c.prompt("", "mine")
	c.turnEnd(r.TurnID)
	d := claimed(t, harnessOptions{dir: dir, root: root})
	d.call(wire.MethodSessionLoad, map[string]any{"sessionId": r.SessionID, "replay": true}, nil)
	d.refused(
		wire.CodeLocked,
		wire.MethodSessionUpdate,
		map[string]any{"sessionId": r.SessionID, "title": "theirs"},
	)
}

// If a turn is running in another daemon, it is not reported as interrupted. A client that may not
// write gets a notice that explains what to do.
func TestATurnOfAnotherDaemonIsNotCalledInterrupted(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{dir: dir, root: root, model: hangs(begun)})
	r := c.prompt("", "mine")
	<-begun
	d := claimed(t, harnessOptions{dir: dir, root: root})
	d.call(wire.MethodSessionLoad, map[string]any{"sessionId": r.SessionID, "replay": true}, nil)
	d.wait("what to do", func(m msg) bool {
		return strings.Contains(
			string(m.Params),
			"another agent-lsp was writing this session when it was loaded here; close it there",
		)
	})
	for _, m := range d.messages() {
		if strings.Contains(string(m.Params), "agent-lsp stopped in the middle") {
			t.Errorf("reported %s", m)
		}
	}
}

// A client that neither claims agent/* capabilities nor calls an agent/* method receives no agent/*
// notifications.
func TestPlainClientsGetNoNotifications(t *testing.T) {
	h := harnessOptions{root: t.TempDir()}
	c := start(t, h)
	c.initialize(h.root, nil)
	var r wire.PromptResult
	c.call(
		"workspace/executeCommand",
		map[string]any{"command": "agent.prompt", "arguments": []any{map[string]any{"text": "hi"}}},
		&r,
	)
	if r.Disposition != "started" {
		t.Fatalf("answered %+v", r)
	}
	l := c.core.Library
	c.call("workspace/executeCommand", map[string]any{"command": "agent.abort"}, nil)
	c.close()
	c.served <- nil
	for _, m := range c.messages() {
		if strings.HasPrefix(m.Method, "agent/") {
			t.Errorf("the client got %s", m)
		}
	}
	if _, err := l.Entry(r.SessionID); err != nil {
		t.Error(err)
	}
}

func TestProgressOfPlainClients(t *testing.T) {
	begun := make(chan struct{}, 1)
	root := t.TempDir()
	c := start(t, harnessOptions{root: root, model: hangs(begun)})
	c.call(
		"initialize",
		map[string]any{
			"rootUri":      agentapi.PathToURI(root),
			"capabilities": map[string]any{"window": map[string]any{"workDoneProgress": true}},
		},
		nil,
	)
	var r wire.PromptResult
	c.call(
		"workspace/executeCommand",
		map[string]any{"command": "agent.prompt", "arguments": []any{map[string]any{"text": "hi"}}},
		&r,
	)
	m, _ := c.wait("a token", isMethod("window/workDoneProgress/create"))
	var token struct{ Token string }
	if err := json.Unmarshal(m.Params, &token); err != nil {
		t.Fatal(err)
	}
	c.send(map[string]any{"id": m.ID, "result": nil})
	c.wait(
		"the beginning",
		func(m msg) bool {
			return m.Method == "$/progress" &&
				strings.Contains(string(m.Params), `"begin"`)
		},
	)
	<-begun
	c.notify("window/workDoneProgress/cancel", map[string]any{"token": token.Token})
	c.wait(
		"the end",
		func(m msg) bool {
			return m.Method == "$/progress" &&
				strings.Contains(string(m.Params), `"end"`)
		},
	)
}

// If a session is deleted, its remaining notifications are sent before the response, including
// those held back for another response.
func TestDeletingASessionLosesNoNews(t *testing.T) {
	c := claimed(t, harnessOptions{})
	id := c.newSession()
	h := c.server.api.Host()
	release := heldBack(h, id)
	h.Emit(id, agent.TurnStarted{TurnID: "turn_late"})
	deletion := c.request(wire.MethodSessionDelete, map[string]any{"sessionId": id})
	c.refused(
		wire.CodeMethodNotFound,
		"agent/nonesuch",
		nil,
	) // by now, the part of the deletion that runs immediately is done
	release()
	_, answered := c.wait("the deletion's answer", isAnswer(deletion))
	_, reported := c.wait("the news", isMethod(wire.MethodTurnStarted))
	if reported > answered {
		t.Error("the session was deleted before its notifications were sent")
	}
}

// If a deletion must first load the session, it does not wait for messages that are held back until
// its own response.
func TestASessionThatIsNotOpenIsDeleted(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	c := claimed(t, harnessOptions{dir: dir, root: root})
	id := c.newSession()
	c.close()
	c.served <- nil
	d := claimed(t, harnessOptions{dir: dir, root: root})
	d.call(wire.MethodSessionDelete, map[string]any{"sessionId": id}, nil)
	d.refused(wire.CodeUnknownSession, wire.MethodSessionLoad, map[string]any{"sessionId": id})
}

// If a job ends while its session is being loaded, the session receives the job's message once it
// is loaded.
func TestASessionThatIsBeingMadeIsNotified(t *testing.T) {
	c := claimed(t, harnessOptions{core: func(core *testCore) {
		prepare := core.Prepare
		core.Prepare = func(ctx context.Context, info host.SessionInfo) (agent.Options, error) {
			info.Notify(message.NewText(message.RoleUser, "the job has ended"), true)
			return prepare(ctx, info)
		}
	}})
	id := c.newSession()
	var turn wire.Turn
	c.call(wire.MethodTurnWait, map[string]any{"sessionId": id}, &turn)
	if turn.Status != agent.TurnStatusCompleted {
		t.Errorf("the turn that the job woke ended as %s", turn.Status)
	}
}

// While a session is being deleted, a concurrent request does not load it again.
func TestASessionThatIsBeingDeletedIsNotLoaded(t *testing.T) {
	var c *testClient
	asked := make(chan error, 1)
	c = claimed(t, harnessOptions{core: func(core *testCore) {
		core.Closed = func(id string, deleted bool) {
			if !deleted {
				return
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // so that the request does not wait
			_, err := c.core.Host.Get(ctx, id)
			asked <- err
		}
	}})
	id := c.newSession()
	c.call(wire.MethodSessionDelete, map[string]any{"sessionId": id}, nil)
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("requested while it is being deleted: %v", err)
	}
	c.refused(wire.CodeUnknownSession, wire.MethodSessionLoad, map[string]any{"sessionId": id})
}

// A session still works after it was reloaded, even if the reload request was canceled or failed.
func TestReadingASessionAnewLeavesNoneClosed(t *testing.T) {
	fails := false
	c := claimed(t, harnessOptions{core: func(core *testCore) {
		prepare := core.Prepare
		core.Prepare = func(ctx context.Context, info host.SessionInfo) (agent.Options, error) {
			if fails {
				return agent.Options{}, errors.New("not today")
			}
			return prepare(ctx, info)
		}
	}})
	id := c.newSession()
	c.turnEnd(c.prompt(id, "first").TurnID)
	r := c.core.Host
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Reload(ctx, r.Loaded(id)); err != nil {
		t.Errorf("reloaded for a canceled request: %v", err)
	}
	c.turnEnd(c.prompt(id, "second").TurnID)
	fails = true
	if _, err := r.Reload(context.Background(), r.Loaded(id)); err == nil {
		t.Error("reloaded without an engine")
	}
	fails = false
	c.turnEnd(c.prompt(id, "third").TurnID)
}

// If a session is created, loaded or reloaded while the connection is closing, the session is
// closed as well. Otherwise, nothing would close it later.
func TestASessionThatIsMadeAsTheConnectionEndsIsClosed(t *testing.T) {
	for _, how := range []string{"made", "loaded", "read again"} {
		t.Run(how, func(t *testing.T) { madeAtTheEnd(t, how) })
	}
}

func madeAtTheEnd(t *testing.T, how string) {
	var c *testClient
	ending, wakes := false, func() {}
	var closed []string
	c = claimed(t, harnessOptions{core: func(core *testCore) {
		prepare := core.Prepare
		core.Prepare = func(ctx context.Context, info host.SessionInfo) (agent.Options, error) {
			if ending {
				closing, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if err := c.server.api.Host().Close(closing); err != nil {
					t.Error(err)
				}
				closed = nil // ignore the sessions that existed before
				wakes = func() {
					info.Notify(message.NewText(message.RoleUser, "the job has ended"),
						true)
				}
			}
			return prepare(ctx, info)
		}
		core.Closed = func(id string, _ bool) { closed = append(closed, id) }
	}})
	id, r := c.newSession(), c.core.Host
	var l *host.Session
	var err error
	switch ending = how == "read again"; how {
	case "made":
		ending = true
		l, err = r.Create(t.Context(), host.NewSession{Cwd: t.TempDir()})
	case "loaded":
		if err := r.Release(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		ending = true
		l, err = r.Get(t.Context(), id)
	default:
		l, err = r.Reload(t.Context(), r.Loaded(id))
	}
	if l != nil || !errors.Is(err, host.ErrClosing) || len(closed) != 1 {
		t.Errorf(
			"a session that was %s returned %v, %v, and the closed sessions are %v",
			how,
			l,
			err,
			closed,
		)
	}
	wakes()
	if l := r.Loaded(id); l != nil && l.Engine.State().Status != agent.SessionIdle {
		t.Error("the session is still running")
	}
}

// A session is released completely, even if the request is canceled.
func TestASessionIsLetGoWhole(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := claimed(t, harnessOptions{model: hangs(begun)})
	id := c.newSession()
	turn := c.prompt(id, "first").TurnID
	<-begun
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.server.api.Release(ctx, id); err != nil {
		t.Errorf("released for a canceled request: %v", err)
	}
	if end := c.turnEnd(turn); end.Status != agent.TurnStatusAborted {
		t.Errorf("the running turn ended as %s", end.Status)
	}
	var again wire.Turn
	c.call(wire.MethodTurnWait, map[string]any{"sessionId": id, "turnId": turn}, &again)
	if again.Status != agent.TurnStatusAborted {
		t.Errorf("after it was loaded again, the turn is %s", again.Status)
	}
}

// meeting implements settings that can change while they are being read.
type meeting struct {
	plainSettings
	mu   sync.Mutex
	mode string
	meet func() // called once while a session's settings are being merged
}

func (m *meeting) Session(own json.RawMessage) (config.Config, []string, error) {
	m.mu.Lock()
	mode, meet := m.mode, m.meet
	m.meet = nil
	m.mu.Unlock()
	if meet != nil {
		meet()
	}
	c, notices, err := m.plainSettings.Session(own)
	c.Mode = mode
	return c, notices, err
}

func (m *meeting) change(mode string, meet func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mode, m.meet = mode, meet
}

// If a session's own settings and the user's settings change at the same time, both changes take
// effect.
func TestSettingsThatChangeTogether(t *testing.T) {
	m := &meeting{}
	c := claimed(t, harnessOptions{core: func(core *testCore) { core.Core.Settings = m }})
	id := c.newSession()
	configure := func(model string) {
		c.call(
			wire.MethodSessionConfigure,
			map[string]any{"sessionId": id, "config": map[string]any{"model": model}},
			nil,
		)
	}
	expect := func(model, mode string) {
		t.Helper()
		if got := c.server.api.Loaded(id).Config(); got.Model != model || got.Mode != mode {
			t.Errorf("model %q in mode %q, want %q in %q", got.Model, got.Mode, model, mode)
		}
	}
	m.change("plan", func() { configure("one") })
	c.core.Host.Reconfigured()
	expect("one", "plan")
	m.change("plan", func() {
		m.change("review", nil)
		c.core.Host.Reconfigured()
	})
	configure("two")
	expect("two", "review")
}

// If a restore changes proposals, these changes are reported after its response.
func TestARestoreIsAnsweredBeforeWhatItCauses(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a.txt")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := claimed(t, harnessOptions{root: root})
	id := c.newSession()
	edit := func(policy workspace.Policy, text string) {
		t.Helper()
		ref, err := c.core.Workspace.Resolve("", path)
		if err == nil {
			_, err = c.core.Workspace.Propose(
				context.Background(),
				workspace.ProposeRequest{SessionID: id, TurnID: "turn", Policy: policy,
					Changes: []workspace.Change{
						{Op: workspace.Modify, Ref: ref, Data: []byte(text)},
					}},
			)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit(workspace.Auto, "one\nTWO\n")
	edit(workspace.Ask, "one\nTWO!\n")
	checkpoint := c.core.Workspace.Checkpoints(id)[0].ID
	_, answered := c.wait(
		"the answer",
		isAnswer(
			c.request(wire.MethodCheckpointRestore, map[string]any{"checkpointId": checkpoint}),
		),
	)
	_, reported := c.wait("the update", isMethod(wire.MethodProposalUpdated))
	if reported < answered {
		t.Error("a proposal's update was sent before the response to the restore that caused it")
	}
}

// The response to a restore of files and conversation precedes the notifications that it causes.
// Sequence numbers keep increasing.
func TestARestoreOfBothKeepsTheOrder(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var c *testClient
	propose := func(session, turn, prompt string, policy workspace.Policy, text string) error {
		ref, err := c.core.Workspace.Resolve(root, "a.txt")
		if err == nil {
			_, err = c.core.Workspace.Propose(
				context.Background(),
				workspace.ProposeRequest{SessionID: session, TurnID: turn, MessageID: prompt,
					Policy: policy, Changes: []workspace.Change{
						{Op: workspace.Modify, Ref: ref, Data: []byte(text)},
					}},
			)
		}
		return err
	}
	edit := toolFunc{
		name: "edit",
		run: func(_ context.Context, call *tool.Call) (*tool.Result, error) {
			return &tool.Result{
					Text: "edited",
				}, propose(
					call.SessionID,
					call.TurnID,
					call.History()[0].ID,
					workspace.Auto,
					"one\nTWO\n",
				)
		},
	}
	c = claimed(t, harnessOptions{root: root, model: callsOnce("edit"), tools: []tool.Tool{edit}})
	r := c.prompt("", "edit")
	c.turnEnd(r.TurnID)
	if err := propose(r.SessionID, "later", "", workspace.Ask, "one\nTWO!\n"); err != nil {
		t.Fatal(err)
	}
	checkpoint := c.core.Workspace.Checkpoints(r.SessionID)[0].ID
	answer, answered := c.wait(
		"the answer",
		isAnswer(
			c.request(
				wire.MethodCheckpointRestore,
				map[string]any{"checkpointId": checkpoint, "scope": "both"},
			),
		),
	)
	if answer.Error != nil {
		t.Fatalf("the restore failed: %s", answer)
	}
	_, reported := c.wait("the update", isMethod(wire.MethodProposalUpdated))
	if reported < answered {
		t.Error("a proposal's update was sent before the response to the restore that caused it")
	}
	next := c.prompt(r.SessionID, "go on")
	c.turnEnd(next.TurnID)
	last := int64(0)
	for _, m := range c.messages() {
		if p := paramsOf2(m); strings.HasPrefix(m.Method, "agent/") && p.SessionID == r.SessionID &&
			len(m.ID) == 0 {
			if p.Seq <= last {
				t.Errorf("%d comes after %d: %s", p.Seq, last, m)
			}
			last = p.Seq
		}
	}
}
