package session

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// replyWithRuns returns a reply that contains a text, reasoning, another text and a tool call. It
// also returns the four items that show this reply, and a notice.
func replyWithRuns() (*message.Message, []agent.Item) {
	m := msg("a1", message.RoleAssistant, "first words, ")
	m.Content = append(m.Content, message.Block{Type: message.Reasoning, Text: "thinking hard"},
		message.Block{Type: message.Text, Text: "last words"},
		message.Block{Type: message.ToolUse,
			Call: &message.ToolCall{ID: "k1", Name: "write",
				Args: json.RawMessage(`{"content":"a long file"}`)}})
	return m, []agent.Item{
		{ID: "i1", Type: agent.ItemAssistant, Text: "first words, ", MessageID: "a1"},
		{ID: "i2", Type: agent.ItemReasoning, Text: "thinking hard", MessageID: "a1"},
		{ID: "i3", Type: agent.ItemAssistant, Text: "last words", MessageID: "a1"},
		{ID: "i4", Type: agent.ItemToolCall, MessageID: "a1",
			Call: &agent.CallItem{CallID: "k1", Name: "write",
				Args: json.RawMessage(`{"content":"a long file"}`), Result: "wrote it"}},
		{ID: "i5", Type: agent.ItemNotice, Text: "a notice"},
	}
}

func wantTexts(t *testing.T, when string, s *Session, want ...string) {
	t.Helper()
	items, err := s.Items(0)
	must(t, err)
	var got []string
	for _, it := range items {
		text := it.Item.Text
		if c := it.Item.Call; c != nil {
			text = string(c.Args) + c.Result
		}
		got = append(got, text)
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s: items %q, want %q", when, got, want)
	}
}

// If items are completed before their messages are stored, each text is stored only once.
func TestItemsBeforeTheirMessages(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	m, items := replyWithRuns()
	want := []string{"first words, ", "thinking hard", "last words",
		`{"content":"a long file"}wrote it`, "a notice"}
	for _, it := range items {
		s.AddItem(Item{Seq: s.NextSeq(), TurnID: "t1", Item: it})
	}
	wantTexts(t, "before they are stored", s, want...)
	must(t, s.Append(messageRecord(m)))
	wantTexts(t, "with the reply stored", s, want...)
	must(t, s.Append(messageRecord(result("r1", "k1", "wrote it"))))
	wantTexts(t, "with the result stored", s, want...)
	if len(s.waiting()) != 0 {
		t.Errorf("still waiting: %v", s.waiting())
	}
	must(t, s.Close())
	wantTexts(t, "after a restart", load(t, l, s.ID()).Session, want...)
	data, err := os.ReadFile(l.logPath(s.ID()))
	must(t, err)
	for _, text := range []string{"first words", "thinking hard", "last words", "a long file",
		"wrote it"} {
		if n := strings.Count(string(data), text); n != 1 {
			t.Errorf("%q is in the log %d times", text, n)
		}
	}
}

// Items whose message never arrives are stored at the end of the turn or of the session.
func TestItemsWithoutMessages(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	retracted := agent.Item{ID: "i1", Type: agent.ItemAssistant, Text: "never mind",
		MessageID: "gone", Status: agent.StatusRetracted}
	s.AddItem(Item{Seq: s.NextSeq(), Item: retracted})
	must(t, s.Append(agent.Record{Type: agent.RecordTurnEnd, Turn: &agent.Turn{TurnID: "t1"}}))
	if len(s.waiting()) != 0 {
		t.Error("an item was not stored by the end of its turn")
	}
	retracted.ID = "i2"
	s.AddItem(Item{Seq: s.NextSeq(), Item: retracted})
	must(t, s.Close())
	wantTexts(t, "after a restart", load(t, l, s.ID()).Session, "never mind", "never mind")
}

// If a write fails, no item is lost.
func TestItemsOfAFailedWrite(t *testing.T) {
	l := OpenWith(t.TempDir(), Options{now: clock(), maxBytes: 3000})
	defer l.Close()
	s := create(t, l)
	s.AddItem(Item{Seq: s.NextSeq(),
		Item: agent.Item{ID: "u1", Type: agent.ItemUser, Text: "hi", MessageID: "u1"}})
	wantErr(t, s.Append(messageRecord(msg("u1", message.RoleUser, strings.Repeat("hi", 4000)))),
		ErrFull)
	wantTexts(t, "after the failure", s, "hi")
	must(t, s.Append(messageRecord(msg("u1", message.RoleUser, "hi"))))
	wantTexts(t, "after it went well", s, "hi")
	if len(s.waiting()) != 0 {
		t.Error("the item is still waiting")
	}
}
