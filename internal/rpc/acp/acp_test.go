package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

func TestLikeDisk(t *testing.T) {
	for _, c := range []struct {
		name, text, disk, want string
		same                   bool
	}{
		{"equal", "a\n", "a\n", "a\n", true},
		{"hidden line endings", "a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n", true},
		{"hidden mark", "a\n", "\ufeffa\n", "\ufeffa\n", true},
		{"unsaved with hidden line endings", "a\nnew\nb\n", "a\r\nb\r\n", "a\r\nnew\r\nb\r\n",
			false},
		{"unsaved", "a\nb\n", "a\n", "a\nb\n", false},
		{"mixed endings are left alone", "a\nb\nc\n", "a\r\nb\n", "a\nb\nc\n", false},
	} {
		got, same := content.LikeDisk(c.text, []byte(c.disk), nil)
		if got != c.want || same != c.same {
			t.Errorf("%s: %q, %v", c.name, got, same)
		}
	}
	if got, same := content.LikeDisk("new\n", nil, filepath.ErrBadPattern); got != "new\n" || same {
		t.Errorf("without a file: %q, %v", got, same)
	}
}

func TestDecisions(t *testing.T) {
	var q question
	answer := func(raw string) []wire.Decision {
		var a permissionAnswer
		_ = json.Unmarshal([]byte(raw), &a)
		return decisionsOf(&a, q)
	}
	q = question{hunks: []string{"h7", "h8"}, rest: true}
	for option, want := range map[string][]wire.Decision{
		"accept":        {{HunkID: "h7", Action: "accept"}, {HunkID: "h8", Action: "accept"}},
		"reject":        {{HunkID: "h7", Action: "reject"}, {HunkID: "h8", Action: "reject"}},
		"accept_always": {{HunkID: "*", Action: "accept"}},
		"else":          {{HunkID: "*", Action: "reject"}},
	} {
		if got := answer(`{"outcome":{"outcome":"selected","optionId":"` + option +
			`"}}`); !reflect.DeepEqual(got, want) {
			t.Errorf("of some hunks, %s: %+v", option, got)
		}
	}
	q = question{hunks: []string{"h7"}}
	all := func(action string) []wire.Decision {
		return []wire.Decision{{HunkID: "*",
			Action: action}}
	}
	for raw, want := range map[string][]wire.Decision{
		`{"outcome":{"outcome":"selected","optionId":"accept"}}`:                   all("accept"),
		`{"outcome":{"outcome":"selected","optionId":"reject"}}`:                   all("reject"),
		`{"outcome":{"outcome":"cancelled","optionId":"accept"}}`:                  all("reject"),
		`{"outcome":{"outcome":"selected","optionId":"else"}}`:                     all("reject"),
		`{"_meta":{"agentLsp":{"decisions":[{"hunkId":"h1","action":"accept"}]}}}`: all("reject"),
		`{"outcome":{"outcome":"selected","optionId":"accept"},` +
			`"_meta":{"agentLsp":{"decisions":[{"hunkId":"h1","action":"accept"}]}}}`: {
			{HunkID: "h1", Action: "accept"}},
		`null`: all("reject"), `[]`: all("reject"), `{"outcome":5}`: all("reject"),
	} {
		if got := answer(raw); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

func TestFoldersAndServers(t *testing.T) {
	dir := t.TempDir()
	if got, err := folders(dir, []string{dir + string(filepath.Separator)}); err != nil ||
		len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "relative", filepath.Join(dir, "missing")} {
		if _, err := folders(bad, nil); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	var servers []acp.McpServer
	raw := `[{"name":"a","command":"/bin/a","args":["-x"],"env":[{"name":"K","value":"v"}]},{"type":"http","name":"b","url":"http://b","headers":[{"name":"H","value":"w"}]}]`
	if err := json.Unmarshal([]byte(raw), &servers); err != nil {
		t.Fatal(err)
	}
	got, err := mcpConfig(servers)
	want := map[string]config.MCP{"a": {Command: "/bin/a", Args: []string{"-x"},
		Env: map[string]string{"K": "v"}},
		"b": {Type: "http", URL: "http://b", Headers: map[string]string{"H": "w"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDeltaFramesAreJSON(t *testing.T) {
	frame := string(deltaPrefix("s\"1", "agent_message_chunk", "i\n1")) + `a \"b\"` + deltaEnd
	var m struct {
		Params acp.SessionNotification
	}
	if err := json.Unmarshal([]byte(frame), &m); err != nil {
		t.Fatalf("%s: %v", frame, err)
	}
	chunk := m.Params.Update.AgentMessageChunk
	if m.Params.SessionId != "s\"1" || chunk == nil || *chunk.MessageId != "i\n1" ||
		chunk.Content.Text.Text != `a "b"` {
		t.Errorf("%+v", m.Params)
	}
}

// An update that this package encodes directly is the same JSON value as one that the ACP library
// encodes.
func TestUpdatesAreTheLibrarys(t *testing.T) {
	call := &wire.Item{ItemID: "i", Type: "toolCall", Name: "edit", Label: "Edit <a> & b",
		Status: "completed", Args: json.RawMessage(`{"a":1}`), ProposalID: "p",
		Result: acp.Ptr("done \u2028 \x00"), Locations: []wire.Location{{URI: "file:///a.go"}}}
	diffs := []acp.ToolCallContent{acp.ToolDiffContent("/a.go", "new", "old"),
		acp.ToolDiffContent("/b.go", ""), acp.ToolTerminalRef("t"),
		acp.ToolContent(acp.ImageBlock("AA==", "image/png")), acp.ToolContent(acp.TextBlock(""))}
	for _, u := range []acp.SessionUpdate{
		{ToolCall: content.ToolCall(call)},
		{ToolCallUpdate: content.EndedCall(call, content.Shown{Content: diffs})},
		{ToolCallUpdate: content.ChangedCall(call)},
		content.ToolUpdate("i", acp.WithUpdateStatus(acp.ToolCallStatusInProgress),
			acp.WithUpdateContent(diffs)),
		{UsageUpdate: &acp.SessionUsageUpdate{Used: 0, Size: 5,
			Cost: &acp.Cost{Amount: 0.1, Currency: "USD"}}},
		{SessionInfoUpdate: &acp.SessionSessionInfoUpdate{Title: acp.Ptr("t")}},
		{ConfigOptionUpdate: &acp.SessionConfigOptionUpdate{
			ConfigOptions: new(session).configOptions()}},
		{CurrentModeUpdate: &acp.SessionCurrentModeUpdate{CurrentModeId: "plan"}},
		acp.UpdateAgentMessageText("hi"), acp.UpdatePlan(acp.PlanEntry{Content: "c"}),
	} {
		theirs, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(theirs, &want); err != nil {
			t.Fatal(err)
		}
		ours := encode(u)
		if err := json.Unmarshal(ours, &got); err != nil {
			t.Fatalf("%s: %v", ours, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("encoded as %s, not %s", ours, theirs)
		}
	}
}

// If a turn ends while its updates are still held back, the response is sent after the updates.
func TestAnswersComeAfterWhatIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		s := &session{a: &adapter{ctx: ctx}}
		s.caughtUp() // returns immediately, because nothing is held back
		var reported []string
		s.hold()
		s.inOrder(func() {
			reported = append(reported, "first")
			s.inOrder(func() { reported = append(reported, "second") })
		})
		go func() {
			s.caughtUp()
			reported = append(reported, "answer")
		}()
		synctest.Wait()
		s.resume(ctx)
		synctest.Wait()
		s.inOrder(func() { reported = append(reported, "third") })
		if want := []string{"first", "second", "answer", "third"}; !slices.Equal(reported, want) {
			t.Errorf("reported %q", reported)
		}
		s.hold()
		go end()
		s.caughtUp() // the end of the connection ends the wait
	})
}

// If text was dropped because the client did not read, it is sent when its message is complete, and
// in the right order.
func TestWhatAClientMissedComesAtTheEnd(t *testing.T) {
	r, w := io.Pipe()
	a := &adapter{ctx: t.Context(), log: slog.New(slog.DiscardHandler),
		sessions: map[string]*session{}, out: jsonrpc.NewLineOutbox(w, deltaEnd)}
	c := &core{a: a}
	a.register(c, "s")
	tell := func(e agent.Event) { c.Notify(host.Notification{SessionID: "s", Event: e}) }
	item := func(text string) agent.Item {
		return agent.Item{ID: "one", Type: agent.ItemAssistant, Text: text}
	}
	say := func(text string) {
		c.delta("s",
			agent.ItemDelta{ItemID: "one", Kind: agent.DeltaText, Text: text})
	}
	tell(agent.ItemStarted{Item: item("")})
	say("1")
	if err := a.out.Put(append(make([]byte, jsonrpc.SoftLimit), '{')); err != nil {
		t.Fatal(err)
	}
	say("2")
	say("3")
	lines := bufio.NewReader(r)
	for range 2 { // read the messages sent so far
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	say("4")
	go func() {
		tell(agent.ItemCompleted{Item: item("1234")})
		a.out.Close()
		<-a.out.Done()
		w.Close()
	}()
	if got, err := io.ReadAll(lines); err != nil || strings.Count(string(got), "\n") != 1 ||
		!strings.Contains(string(got), `"text":"234"`) {
		t.Errorf("reported %s, %v", got, err)
	}
}

// If a session is loaded again before an earlier load was answered, its updates are held back until
// both loads are answered.
func TestHoldsOfLoadsThatOverlap(t *testing.T) {
	s := &session{a: &adapter{ctx: t.Context()}}
	var reported []string
	say := func(what string) { s.inOrder(func() { reported = append(reported, what) }) }
	s.hold()
	say("first")
	s.hold()
	s.resume(t.Context())
	say("second")
	if len(reported) > 0 {
		t.Errorf("reported %q during the second hold", reported)
	}
	s.inOrder(func() { s.hold(); say("third") })
	s.resume(t.Context())
	say("fourth")
	if want := []string{"first", "second"}; !slices.Equal(reported, want) {
		t.Errorf("reported %q, but the third hold was ignored", reported)
	}
	s.resume(t.Context())
	say("fifth")
	all := []string{"first", "second", "third", "fourth", "fifth"}
	if !slices.Equal(reported, all) {
		t.Errorf("reported %q", reported)
	}
}

// A delta that arrives while earlier updates are held back is sent after them and before later
// updates.
func TestDeltasKeepTheirPlace(t *testing.T) {
	var wrote bytes.Buffer
	a := &adapter{ctx: t.Context(), log: slog.New(slog.DiscardHandler),
		sessions: map[string]*session{}, out: jsonrpc.NewLineOutbox(&wrote, deltaEnd)}
	c := &core{a: a}
	s := a.register(c, "s")
	say := func(id, text string) {
		c.delta("s",
			agent.ItemDelta{ItemID: id, Kind: agent.DeltaText, Text: text})
	}
	begin := func(id string) {
		item := agent.Item{ID: id, Type: agent.ItemAssistant}
		c.Notify(host.Notification{SessionID: "s", Event: agent.ItemStarted{Item: item}})
	}
	begin("one")
	say("one", "1")
	s.hold()
	begin("two") // this event is held back; the client would ignore a delta that is sent before it
	say("two", "2")
	say("one", "3")
	s.resume(t.Context())
	say("two", "4")
	say("none", "5")
	c.delta("other", agent.ItemDelta{ItemID: "one", Kind: agent.DeltaText, Text: "6"})
	a.out.Close()
	<-a.out.Done()
	got := map[string]string{} // the order of deltas for different items does not matter
	for _, line := range strings.Split(strings.TrimSpace(wrote.String()), "\n") {
		_, rest, _ := strings.Cut(line, `"messageId":"`)
		id, rest, _ := strings.Cut(rest, `"`)
		_, text, _ := strings.Cut(rest, `"text":"`)
		got[id] += strings.TrimSuffix(text, deltaEnd)
	}
	if want := map[string]string{"one": "13", "two": "24"}; !maps.Equal(got, want) {
		t.Errorf("reported %v by\n%s", got, wrote.String())
	}
}

// The terminal authentication method is offered only to clients that can run the agent in a
// terminal.
func TestAuthMethods(t *testing.T) {
	for can, want := range map[bool]string{
		false: `provider`, true: `provider, login terminal [login]`,
	} {
		var p acp.InitializeRequest
		raw := `{"protocolVersion":1,"clientCapabilities":{"auth":{"terminal":` +
			strconv.FormatBool(can) + `}}}`
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range authMethods(&p.ClientCapabilities) {
			switch m := m.(type) {
			case acp.AuthMethodAgent:
				got = append(got, m.Id)
			case acp.AuthMethodTerminalInline:
				got = append(got, fmt.Sprint(m.Id, " ", m.Type, " ", m.Args))
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("terminal %v: %s, want %s", can, s, want)
		}
	}
}
