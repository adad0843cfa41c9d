package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// drain resumes and continues the session until no turn is running and the queue is empty.
func (c *chaos) drain() {
	for range 200 {
		_ = c.s.Resume()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Hour)
		_, err := c.s.Wait(ctx, "", "")
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			c.t.Errorf("a turn does not end: %+v", c.s.State())
			return
		}
		if st := c.s.State(); st.Status == SessionIdle && len(st.Queue) == 0 {
			break
		}
		_, _ = c.s.Continue()
	}
}

func (c *chaos) verify() {
	seen := map[string]int{}
	for _, m := range c.s.Messages() {
		seen[m.ID]++
	}
	for id := range seen {
		if seen[id] != 1 {
			c.t.Errorf("message %s is in the history %d times", id, seen[id])
		}
	}
	waiting := map[string]bool{}
	for _, e := range c.s.inbox.notes {
		waiting[e.msg.ID] = true
	}
	for id := range c.accepted {
		if seen[id] == 0 && !waiting[id] {
			c.t.Errorf("message %s was accepted but is lost", id)
		}
	}
	for _, id := range c.s.State().Pinned {
		if !slices.ContainsFunc(
			c.s.conv.view.msgs,
			func(m *message.Message) bool {
				return m.ID == id &&
					slices.Contains(c.s.conv.messages, m)
			},
		) {
			c.t.Errorf("message %s is pinned, but the model does not see all of it", id)
		}
	}
	if !history.Paired(c.s.conv.view.msgs) {
		c.t.Errorf("the messages that the model sees are not paired at the end:\n%s",
			texts(c.s.conv.view.msgs))
	}
	if !history.Paired(c.s.Messages()) {
		c.t.Errorf("not paired at the end:\n%s", texts(c.s.Messages()))
	}
	c.check.atEnd()
}

// checker is a Sink and a Store that verifies the invariants at each event.
type checker struct {
	t    *testing.T
	fail func() bool // reports whether the next store operation fails

	mu     sync.Mutex
	msgs   []*message.Message
	paired int
	stored map[string]bool // IDs of calls whose assistant message has been stored
	synced map[string]bool // IDs of calls whose assistant message has been synced to disk
	open   map[string]string
	ended  map[string]bool
	texts  map[string]string
	turn   string
}

func (k *checker) Append(recs ...Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil && k.fail() {
		return errors.New("disk full")
	}
	for _, r := range recs {
		if r.Type != RecordMessage {
			continue
		}
		k.msgs = append(k.msgs, r.Message)
		for _, c := range r.Message.ToolCalls() {
			k.stored[c.ID] = true
		}
	}
	k.pairing()
	return nil
}

func (k *checker) Sync() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil && k.fail() {
		return errors.New("the disk fails")
	}
	maps.Copy(k.synced, k.stored)
	return nil
}

// pairing checks that every call in the stored history has its result, except for calls at the very
// end.
func (k *checker) pairing() {
	n, open := history.PairedPrefix(k.msgs[k.paired:])
	if k.paired+n < len(k.msgs) {
		k.t.Errorf("the stored history is not paired at %d:\n%s", k.paired+n, texts(k.msgs))
		k.paired = len(k.msgs)
		return
	}
	if !open {
		k.paired = len(k.msgs)
	}
}

func (k *checker) toolStarts(callID string, e tool.Effect) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.stored[callID] {
		k.t.Errorf("the tool of call %s ran before its message was stored", callID)
	}
	if e != tool.ReadOnly && !k.synced[callID] {
		k.t.Errorf(
			"the tool of call %s has an effect and ran before its message was on disk",
			callID,
		)
	}
}

func (k *checker) Emit(_ string, e Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pairing()
	switch e := e.(type) {
	case TurnStarted:
		if k.turn != "" {
			k.t.Errorf("turn %s starts within %s", e.TurnID, k.turn)
		}
		k.turn = e.TurnID
	case TurnCompleted:
		if len(k.open) > 0 || k.turn != e.Turn.TurnID {
			k.t.Errorf("turn %s completed with open items %v, running %s", e.Turn.TurnID, k.open,
				k.turn)
		}
		k.turn, k.ended[e.Turn.TurnID] = "", true
	case ItemStarted:
		k.bears(e.TurnID, e)
		k.open[e.Item.ID] = e.TurnID
	case ItemUpdated:
		k.mustBeOpen(e.Item.ID, e)
	case ItemDelta:
		k.mustBeOpen(e.ItemID, e)
		if e.Kind == DeltaText || e.Kind == DeltaReasoning {
			k.texts[e.ItemID] += e.Text
		}
	case ItemCompleted:
		k.mustBeOpen(e.Item.ID, e)
		delete(k.open, e.Item.ID)
		if typ := e.Item.Type; (typ == ItemAssistant || typ == ItemReasoning) &&
			k.texts[e.Item.ID] != e.Item.Text {
			k.t.Errorf("deltas %q make %q", k.texts[e.Item.ID], e.Item.Text)
		}
	case Retrying:
		k.bears(e.TurnID, e)
	}
}

func (k *checker) bears(turnID string, e Event) {
	if turnID != "" && turnID != k.turn {
		k.t.Errorf("%s has turn %s, but %q is running", eventLine(e), turnID, k.turn)
	}
}

func (k *checker) mustBeOpen(id string, e Event) {
	if _, ok := k.open[id]; !ok {
		k.t.Errorf("%s of an item that is not open", eventLine(e))
	}
}

func (k *checker) atEnd() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turn != "" || len(k.open) > 0 {
		k.t.Errorf("at the end turn %q is running and items %v are open", k.turn, k.open)
	}
}
