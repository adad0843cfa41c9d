package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// clock returns a clock whose times strictly increase, so that the order of sessions is defined.
func clock() func() time.Time {
	t := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time { t = t.Add(time.Second); return t }
}

func newLibrary(t testing.TB) *Library {
	l := OpenWith(t.TempDir(), Options{now: clock()})
	t.Cleanup(func() { l.Close() })
	return l
}

func create(t testing.TB, l *Library) *Session {
	t.Helper()
	s, err := l.Create(Meta{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t testing.TB, l *Library, id string) *Loaded {
	t.Helper()
	in, err := l.Load(id)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// msg creates a message. calls are the IDs of its tool calls.
func msg(id string, role message.Role, text string, calls ...string) *message.Message {
	m := message.NewText(role, text)
	m.ID, m.TurnID, m.Time = id, "t1", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range calls {
		m.Content = append(m.Content, message.Block{Type: message.ToolUse,
			Call: &message.ToolCall{ID: c, Name: "bash",
				Args: json.RawMessage(`{"command":"ls"}`)}})
	}
	return m
}

func result(id, call, text string) *message.Message {
	m := msg(id, message.RoleTool, text)
	m.CallID, m.Name = call, "bash"
	return m
}

func messageRecord(m *message.Message) agent.Record {
	return agent.Record{Type: agent.RecordMessage, Message: m, Time: m.Time}
}

func toolStart(call string) agent.Record {
	return agent.Record{Type: agent.RecordToolStart,
		Data: json.RawMessage(`{"callId":"` + call + `"}`)}
}

// outline formats a history in one line, with the role and text of each message.
func outline(ms []*message.Message) string {
	var b strings.Builder
	for _, m := range ms {
		fmt.Fprintf(&b, "%c:%s ", m.Role[0], m.TextContent())
	}
	return strings.TrimSpace(b.String())
}

func wantOutline(t *testing.T, in *Loaded, want string) {
	t.Helper()
	if got := outline(in.Messages); got != want {
		t.Errorf("history:\n got %s\nwant %s", got, want)
	}
}

// story writes a short session with settings, a prompt, a tool call and an answer.
func story(t testing.TB, s *Session) {
	t.Helper()
	must(t, s.SetConfig(json.RawMessage(`{"model":"m1"}`)))
	must(t, s.Append(messageRecord(msg("u1", message.RoleUser, "fix <the> bug\nplease")),
		agent.Record{Type: agent.RecordTurnStart, Turn: &agent.Turn{TurnID: "t1"}}))
	s.AddItem(Item{Seq: s.NextSeq(), TurnID: "t1",
		Item: agent.Item{ID: "u1", Type: agent.ItemUser, Text: "fix <the> bug\nplease",
			MessageID: "u1"}})
	must(t, s.Append(messageRecord(msg("a1", message.RoleAssistant, "looking", "k1"))))
	must(t, s.Append(toolStart("k1")))
	must(t, s.Append(messageRecord(result("r1", "k1", "main.go"))))
	s.AddItem(Item{Seq: s.NextSeq(), TurnID: "t1",
		Item: agent.Item{ID: "i2", Type: agent.ItemToolCall, MessageID: "a1",
			Call: &agent.CallItem{CallID: "k1", Name: "bash",
				Args:   json.RawMessage(`{"command":"ls"}`),
				Result: "main.go", Duration: 3 * time.Millisecond}}})
	must(t, s.Append(messageRecord(msg("a2", message.RoleAssistant, "done"))))
	s.AddItem(Item{Seq: s.NextSeq(), TurnID: "t1",
		Item: agent.Item{ID: "i3", Type: agent.ItemAssistant, Text: "done", MessageID: "a2"}})
	must(t, s.Append(agent.Record{Type: agent.RecordTurnEnd,
		Turn: &agent.Turn{TurnID: "t1", Status: "completed", EndReason: agent.EndStop,
			Usage: message.Usage{Input: 10, Output: 5, Total: 15}}, Sync: true}))
}

const storyOutline = "u:fix <the> bug\nplease a:looking t:main.go a:done"

func TestStoryComesBack(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.Append(agent.Record{Type: agent.RecordQueue,
		Queue: []agent.QueueEntry{{MessageID: "q1", Delivery: "followUp"}}},
		agent.Record{Type: "outcome", Data: json.RawMessage(`{"x":1}`)}))
	must(t, s.Close())

	in := load(t, l, s.ID())
	wantOutline(t, in, storyOutline)
	if string(in.Config) != `{"model":"m1"}` || len(in.Queue) != 1 {
		t.Errorf("config %s, queue %v", in.Config, in.Queue)
	}
	if in.LastSeq != 3 || in.InterruptedTurn != "" || len(in.Turns) != 1 ||
		in.Turns[0].EndReason != agent.EndStop {
		t.Errorf("lastSeq %d, interrupted %q, last turn %+v", in.LastSeq, in.InterruptedTurn,
			in.Turns)
	}
	if len(in.Problems) > 0 {
		t.Errorf("problems: %v", in.Problems)
	}
	if e := in.Entry; e.Title != "fix <the> bug please" || e.Messages != 4 || e.Usage.Total != 15 ||
		e.Cwd != "/w" {
		t.Errorf("entry %+v", e)
	}
	if n := in.Session.NextSeq(); n != 4 {
		t.Errorf("the next number is %d, want 4", n)
	}
}

func TestItemsHoldNoTextTwice(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	items, err := s.Items(1)
	must(t, err)
	if len(items) != 2 || items[0].Item.Call.Result != "main.go" ||
		string(items[0].Item.Call.Args) != `{"command":"ls"}` ||
		items[0].Item.Call.Duration != 3*time.Millisecond || items[1].Item.Text != "done" {
		t.Errorf("items after 1: %+v", items)
	}
	data, err := os.ReadFile(filepath.Join(l.dir, s.ID()+logSuffix))
	must(t, err)
	for _, text := range []string{"main.go", `"done"`, "fix <the> bug", `"command"`} {
		if n := strings.Count(string(data), text); n != 1 {
			t.Errorf("%q is in the log %d times", text, n)
		}
	}
}

func TestCrashInTool(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	must(t, s.Append(agent.Record{Type: agent.RecordTurnStart, Turn: &agent.Turn{TurnID: "t1"}},
		messageRecord(msg("u1", message.RoleUser, "go")),
		messageRecord(msg("a1", message.RoleAssistant, "", "k1", "k2", "k3", "k4"))))
	must(t, s.Append(toolStart("k1"), messageRecord(result("r1", "k1", "one")), toolStart("k2"),
		agent.Record{Type: agent.RecordToolStart,
			Data: json.RawMessage(`{"callId":"k3","itemId":"item7"}`)}))
	before := s.NextSeq()
	crash(s)

	pending := true
	other := OpenWith(l.dir, Options{now: clock(), PendingProposal: func(_, item string) string {
		if !pending {
			return ""
		}
		return strings.Replace(item, "item", "p", 1)
	}})
	check := func(in *Loaded) {
		t.Helper()
		wantOutline(
			t,
			in,
			"u:go a: t:one t:interrupted: agent-lsp ended while this call was running. It may have had effects; check before you repeat it. "+
				"t:interrupted by a restart; proposal p7 is still pending t:interrupted: agent-lsp ended before this call was started. It had no effect.",
		)
		items, err := in.Session.Items(0)
		must(t, err)
		if len(items) != 5 || items[1].Item.Call.Result != "one" ||
			items[3].Item.Call.Result != "interrupted by a restart; proposal p7 is still pending" ||
			items[0].Seq <= before {
			t.Errorf("items: %+v", items)
		}
	}
	in := load(t, other, s.ID())
	if in.InterruptedTurn != "t1" || len(in.Interrupted) != 3 ||
		in.Turns[0].AbortPhase != "tool_execution" {
		t.Errorf("interrupted %q %+v, last %+v", in.InterruptedTurn, in.Interrupted, in.Turns)
	}
	check(in)
	must(t, in.Session.SetTitle("mine")) // this write also stores the results
	// The proposal is decided only now. The stored result must not change.
	pending = false
	check(in)
	must(t, in.Session.Close())
	again := load(t, other, s.ID())
	check(again)
	if again.InterruptedTurn != "" || len(again.Interrupted) != 0 {
		t.Errorf(
			"after it was repaired: interrupted %q %v",
			again.InterruptedTurn,
			again.Interrupted,
		)
	}
	must(t, other.Close())
}

// crash releases a session without closing it, as if the process had died.
func crash(s *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file.Close()
	s.closed = true
	s.lib.forget(s)
}

// TestCrashAfterPrompt loads a session whose process died after storing the prompt but before
// storing the item that shows it.
func TestCrashAfterPrompt(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	u := msg("u1", message.RoleUser, "go")
	u.TurnID = "t1"
	must(t, s.Append(agent.Record{Type: agent.RecordTurnStart, Turn: &agent.Turn{TurnID: "t1"}},
		messageRecord(u)))
	crash(s)
	in := load(t, l, s.ID())
	items, err := in.Session.Items(0)
	must(t, err)
	if len(items) != 1 || items[0].Item.ID != "u1" || items[0].Item.Text != "go" ||
		items[0].TurnID != "t1" {
		t.Errorf("items: %+v", items)
	}
}

// TestCrashWithPendingProposal checks that loading a session calls PendingProposal for each call
// whose result was not stored, and that the result names the pending proposal.
func TestCrashWithPendingProposal(t *testing.T) {
	l := OpenWith(t.TempDir(), Options{now: clock(),
		PendingProposal: func(_, item string) string {
			return strings.Replace(item, "item", "p",
				1)
		}})
	s := create(t, l)
	must(t, s.Append(messageRecord(msg("u1", message.RoleUser, "go")),
		messageRecord(msg("a1", message.RoleAssistant, "", "k1")),
		agent.Record{Type: agent.RecordToolStart,
			Data: json.RawMessage(`{"callId":"k1","itemId":"item9"}`)}))
	crash(s)
	wantOutline(t, load(t, l, s.ID()),
		"u:go a: t:interrupted by a restart; proposal p9 is still pending")
}

func TestSeqGoesOnAfterCrash(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	for range 3 * seqBlock / 2 {
		s.NextSeq()
	}
	last := s.NextSeq()
	if last != 3*seqBlock/2+1 {
		t.Fatalf("numbers have gaps: %d", last)
	}
	crash(s)
	in := load(t, l, s.ID())
	if n := in.Session.NextSeq(); n <= last || n > last+2*seqBlock {
		t.Errorf("after a crash at %d the next number is %d", last, n)
	}
}

func TestBranch(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.BranchTo("u1"))
	must(t, s.Append(messageRecord(msg("a9", message.RoleAssistant, "other"))))
	wantOutline(t, load(t, l, s.ID()), "u:fix <the> bug\nplease a:other")
	if items, _ := s.Items(0); len(items) != 1 {
		t.Errorf("items of the branch: %+v", items)
	}
	if e := s.Entry(); e.Messages != 2 {
		t.Errorf("%d messages", e.Messages)
	}
	must(t, s.BranchTo("a2")) // return to the first branch; nothing is lost
	wantOutline(t, load(t, l, s.ID()), storyOutline)
	if err := s.BranchTo("nope"); err == nil {
		t.Error("branched to a message that does not exist")
	}
}

func TestSecondWriterIsLocked(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	other := OpenWith(l.dir, Options{})
	defer other.Close()
	in := load(t, other, s.ID())
	wantOutline(t, in, storyOutline)
	wantErr(t, in.Session.SetTitle("x"), ErrLocked)
	wantErr(t, other.Delete(s.ID()), ErrLocked)
	must(t, s.SetTitle("mine"))
	must(t, s.Close())
	wantErr(t, in.Session.SetTitle("x"), ErrChanged)
	in = load(t, other, s.ID())
	must(t, in.Session.SetTitle("yours"))
	if e, err := l.Entry(s.ID()); err != nil || e.Title != "yours" {
		t.Errorf("title %q, %v", e.Title, err)
	}
}

func agentItem(id, text string) agent.Item {
	return agent.Item{ID: id, Type: agent.ItemUser, Text: text, MessageID: id}
}
