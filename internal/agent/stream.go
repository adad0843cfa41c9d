package agent

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
)

// stream converts the deltas of one attempt to items. Each run of text or reasoning and each tool
// call becomes an item. stream holds its lock while it emits an event, so that no delta follows
// close.
type stream struct {
	s         *Session
	t         *turn
	messageID string

	mu     sync.Mutex
	closed bool
	runs   []*textRun
	calls  []*streamedCall
}

// textRun is a sequence of text deltas or of reasoning deltas without deltas of the other kind in
// between.
type textRun struct {
	item Item
	kind DeltaKind
	text strings.Builder
	rest string        // the bytes of an incomplete rune
	gate *repair.Shown // holds back text that will not be part of the stored message
}

// streamedCall is a tool call that is shown while its arguments arrive.
type streamedCall struct {
	index  int
	item   Item
	shown  bool
	hidden bool
	held   strings.Builder // arguments that arrived before the name
	taken  bool            // a tool call in the complete reply now owns the item
}

func newStream(s *Session, t *turn) *stream {
	return &stream{s: s, t: t, messageID: s.opts.NewID("msg_")}
}

// on processes a delta from the model.
func (st *stream) on(d Delta) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed || st.t.ctx.Err() != nil {
		return
	}
	switch d.Kind {
	case DeltaText, DeltaReasoning:
		st.addText(d.Kind, d.Text)
	case DeltaToolInput:
		st.addInput(d)
	}
}

func (st *stream) addText(kind DeltaKind, text string) {
	if text == "" {
		return
	}
	var r *textRun
	if n := len(st.runs); n > 0 {
		r = st.runs[n-1]
	}
	if r == nil || r.kind != kind {
		if r != nil {
			st.endRun(r)
		}
		r = st.startRun(kind)
	}
	text, r.rest = wholeRunes(r.rest + text)
	st.emitText(r, r.gate.Add(text))
}

// endRun shows the remaining text of a run when another run follows.
func (st *stream) endRun(r *textRun) {
	st.flushRun(r)
	st.emitText(r, r.gate.End())
	r.gate = repair.NewShown(repair.Options{}, nil)
}

func (st *stream) startRun(kind DeltaKind) *textRun {
	typ := ItemAssistant
	if kind == DeltaReasoning {
		typ = ItemReasoning
	}
	r := &textRun{kind: kind, item: Item{
		ID: st.s.opts.NewID("item_"), Type: typ, CreatedAt: time.Now(), MessageID: st.messageID,
	}}
	o := st.t.step.Repair
	o.FallbackParser = o.FallbackParser && kind == DeltaText
	var known []string
	if o.FallbackParser {
		known = st.t.step.Tools.Names()
	}
	r.gate = repair.NewShown(o, known)
	st.runs = append(st.runs, r)
	return r
}

// emitText adds text to a run. The first text makes the run visible.
func (st *stream) emitText(r *textRun, text string) {
	if text == "" {
		return
	}
	if r.text.Len() == 0 {
		st.s.em.emit(ItemStarted{TurnID: st.t.id, Item: r.item})
	}
	r.text.WriteString(text)
	st.s.em.emit(ItemDelta{TurnID: st.t.id, ItemID: r.item.ID, Kind: r.kind, Text: text})
}

func (st *stream) addInput(d Delta) {
	c := st.call(d.Index)
	if d.CallID != "" {
		c.item.Call.CallID = d.CallID
	}
	if d.Name != "" && !c.shown {
		st.showCall(c, d.Name)
	}
	switch {
	case c.hidden || d.Text == "":
	case c.shown:
		st.s.em.emit(ItemDelta{TurnID: st.t.id, ItemID: c.item.ID, Kind: DeltaToolInput,
			Text: message.ValidUTF8(d.Text)})
	default:
		c.held.WriteString(d.Text)
	}
}

func (st *stream) call(index int) *streamedCall {
	for _, c := range st.calls {
		if c.index == index {
			return c
		}
	}
	c := &streamedCall{index: index, item: Item{
		ID: st.s.opts.NewID("item_"), Type: ItemToolCall, CreatedAt: time.Now(),
		Status: StatusPending, MessageID: st.messageID, Call: &CallItem{},
	}}
	st.calls = append(st.calls, c)
	return c
}

func (st *stream) showCall(c *streamedCall, name string) {
	c.shown = true
	c.item.Call.Name, c.item.Call.Label = name, name
	if reg := st.t.step.Tools.Lookup(name); reg != nil {
		c.item.Call.Label, c.hidden = reg.Spec.Title(), reg.Spec.Hidden
	}
	if c.hidden {
		return
	}
	st.s.em.emit(ItemStarted{TurnID: st.t.id, Item: copyItem(c.item)})
	if c.held.Len() > 0 {
		st.s.em.emit(ItemDelta{TurnID: st.t.id, ItemID: c.item.ID, Kind: DeltaToolInput,
			Text: message.ValidUTF8(c.held.String())})
	}
}

// close ends every open item with a status and returns the text that was shown, without reasoning.
func (st *stream) close(status ItemStatus) (text string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	for _, r := range st.runs {
		st.flushRun(r)
		if r.kind == DeltaText {
			text += r.text.String()
		}
		st.complete(r, status)
	}
	st.cancelCalls()
	return text
}

// flushRun shows an incomplete rune at the end of a run.
func (st *stream) flushRun(r *textRun) {
	rest := r.rest
	r.rest = ""
	st.emitText(r, r.gate.Add(message.ValidUTF8(rest)))
}

// complete completes the item of a run, if any of the run was shown.
func (st *stream) complete(r *textRun, status ItemStatus) {
	if r.text.Len() == 0 {
		return
	}
	r.item.Text, r.item.Status = r.text.String(), status
	st.s.em.emit(ItemCompleted{TurnID: st.t.id, Item: r.item})
}

// cancelCalls completes the items of calls that are not in the reply.
func (st *stream) cancelCalls() {
	for _, c := range st.calls {
		if c.shown && !c.hidden && !c.taken {
			c.taken = true
			c.item.Status = StatusCancelled
			st.s.em.emit(ItemCompleted{TurnID: st.t.id, Item: copyItem(c.item)})
		}
	}
}

// commit completes the items according to m. It adds content that the model did not stream, and
// retracts shown text that is not in the reply.
func (st *stream) commit(m *message.Message) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	st.settle(DeltaReasoning, reasoningOf(m))
	st.settle(DeltaText, m.TextContent())
}

func (st *stream) settle(kind DeltaKind, want string) {
	var have []string
	var last *textRun
	for _, r := range st.runs {
		if r.kind == kind {
			st.flushRun(r)
			have = append(have, r.text.String())
			last = r
		}
	}
	missing, ok := strings.CutPrefix(want, strings.Join(have, ""))
	status := ItemStatus("")
	if !ok && kind == DeltaText {
		status, missing = StatusRetracted, want
	}
	if status == "" && last != nil && ok {
		st.emitText(last, missing)
		missing = ""
	}
	for _, r := range st.runs {
		if r.kind == kind {
			st.complete(r, status)
		}
	}
	if missing != "" && (ok || kind == DeltaText) {
		r := st.startRun(kind)
		st.emitText(r, missing)
		st.complete(r, "")
	}
}

func reasoningOf(m *message.Message) string {
	var b strings.Builder
	for i := range m.Content {
		if m.Content[i].Type == message.Reasoning {
			b.WriteString(m.Content[i].Text)
		}
	}
	return b.String()
}

// claim returns the item that showed a call while it streamed, or an item without an ID if there is
// none. ok reports whether clients see the item.
func (st *stream) claim(c *message.ToolCall, index int) (it Item, ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	var found *streamedCall
	for _, sc := range st.calls {
		if sc.taken || !sc.shown {
			continue
		}
		if sc.item.Call.CallID == c.ID {
			found = sc
			break
		}
		if found == nil && sc.item.Call.Name == c.Name &&
			(sc.index >= index || sc.item.Call.CallID == "") {
			found = sc
		}
	}
	if found == nil {
		return Item{}, false
	}
	found.taken = true
	return found.item, !found.hidden
}

// release completes the items of streamed calls that were not claimed.
func (st *stream) release() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.cancelCalls()
}

func copyItem(it Item) Item {
	if it.Call != nil {
		c := *it.Call
		it.Call = &c
	}
	return it
}

// wholeRunes splits off an incomplete rune at the end of s and makes the rest valid.
func wholeRunes(s string) (whole, rest string) {
	for i := 1; i <= utf8.UTFMax-1 && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-i:]) {
				return message.ValidUTF8(s[:len(s)-i]), s[len(s)-i:]
			}
			break
		}
	}
	return message.ValidUTF8(s), ""
}

// sanitize makes a new message's text valid UTF-8.
func sanitize(m *message.Message) {
	for i := range m.Content {
		m.Content[i].Text = message.ValidUTF8(m.Content[i].Text)
	}
}
