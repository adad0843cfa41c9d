package acp

import (
	"context"
	"encoding/base64"
	"fmt"
	"runtime/debug"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// maxText is the maximum size of one piece of text in a message. Longer text is split into
	// several chunks.
	maxText = 1 << 20
	// outputTail is the number of bytes that are shown from the end of a tool's live output. Each
	// update replaces the previous one.
	outputTail = 4 << 10
)

// item is an item of a running turn.
type item struct {
	kind   string
	nested bool // whether the item belongs to a sub-agent
	sent   int  // number of bytes of the item's text that were sent
	missed bool // whether a later piece was dropped; the rest is sent when the item is completed
	output []byte
	shown  content.Shown
	tool   wire.Item
}

var _ host.Subscriber = (*core)(nil)

// Notify implements host.Subscriber. It converts session events to updates and keeps their order.
func (c *core) Notify(n host.Notification) {
	defer c.recovered()
	s, err := c.a.session(n.SessionID)
	if err != nil || s.core != c {
		return
	}
	stamp := wire.Stamp{SessionID: n.SessionID, Seq: n.Seq, Replay: n.Replay}
	method, params := agentapi.Notification(stamp, n.Event)
	if e, ok := params.(wire.ItemEvent); ok && e.Replay {
		s.convert(method, params) // not held back, because past events precede the response
		return
	}
	s.inOrder(func() { s.convert(method, params) })
}

// Delta implements host.Subscriber.
func (c *core) Delta(sessionID string, _ int64, d agent.ItemDelta) { c.delta(sessionID, d) }

// Merge implements host.Subscriber. Updates have no numbers, so every delta is accepted.
func (c *core) Merge(sessionID string, d agent.ItemDelta) bool {
	c.delta(sessionID, d)
	return true
}

// Replace implements host.Subscriber.
func (c *core) Replace(string, int64, agent.State) bool { return false }

func (c *core) delta(sessionID string, d agent.ItemDelta) {
	defer c.recovered()
	if s, err := c.a.session(sessionID); err == nil && s.core == c {
		s.delta(&d, false)
	}
}

// recovered prevents a panic in a notification from reaching the engine.
func (c *core) recovered() {
	if p := recover(); p != nil {
		c.a.log.Error("notifying the client panicked", "panic", p, "stack", string(debug.Stack()))
	}
}

// inOrder runs f now, or after the updates that are held back.
func (s *session) inOrder(f func()) {
	s.mu.Lock()
	if s.held != nil {
		s.later = append(s.later, f)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	f()
}

// hold holds back updates until resume has been called as often as hold.
func (s *session) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds++
	if s.held == nil {
		s.held = make(chan struct{})
	}
}

// resume undoes one hold. When none is left, it sends the updates that were held back.
func (s *session) resume(context.Context) {
	s.mu.Lock()
	s.holds--
	if s.resuming { // the resume that is already running continues
		s.mu.Unlock()
		return
	}
	s.resuming = true
	s.mu.Unlock()
	for later := s.takeLater(); later != nil; later = s.takeLater() {
		for _, f := range later {
			f()
		}
	}
}

// takeLater returns the updates that resume must send. It returns nil if resume is done, because
// everything has been sent or must be held back again.
func (s *session) takeLater() []func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := s.later
	if s.holds == 0 && len(later) > 0 {
		s.later = nil
		return later
	}
	s.resuming = false
	if s.holds == 0 {
		close(s.held)
		s.held = nil
	}
	return nil
}

// caughtUp waits until no updates are held back, so that a turn's response comes after all its
// updates.
func (s *session) caughtUp() {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-s.a.ctx.Done():
	}
}

// convert converts one notification to updates. It never waits for the client.
func (s *session) convert(method string, params any) {
	switch e := params.(type) {
	case wire.ItemEvent:
		s.itemTold(method, &e)
	case wire.TurnCompleted:
		s.turnCompleted()
		s.ended(&e.Turn)
	case wire.ProposalCreated:
		s.setPending(true)
		s.proposed(&e.Proposal)
	case wire.ProposalChanged:
		if method == wire.MethodProposalClosed {
			s.decided(&e.Proposal)
		} else {
			s.proposed(&e.Proposal)
		}
	case *wire.SessionUpdated:
		s.sessionUpdated(e)
	case wire.RetryScheduled:
		s.retried(&e)
	case wire.Compaction:
		s.note("", compacted(&e))
	}
}

func (s *session) itemTold(method string, e *wire.ItemEvent) {
	switch method {
	case wire.MethodItemStarted:
		s.started(e)
	case wire.MethodItemUpdated:
		s.itemUpdated(e)
	case wire.MethodItemCompleted:
		s.completed(e)
	}
}

// delta is called for every piece of text. For speed, it encodes the update without the library,
// and merges it with a queued delta of the same item. late reports that the delta was held back.
func (s *session) delta(d *agent.ItemDelta, late bool) {
	s.mu.Lock()
	if s.held != nil && !late {
		s.later = append(s.later, s.lateDelta(*d))
		s.mu.Unlock()
		return
	}
	it := s.items[d.ItemID]
	if it == nil || (it.nested || it.missed) && d.Kind != agent.DeltaToolOutput {
		s.mu.Unlock()
		return
	}
	if d.Kind == agent.DeltaToolOutput {
		it.output = append(it.output, d.Text...)
		if over := len(it.output) - outputTail; over > outputTail {
			it.output = append(it.output[:0], it.output[over:]...)
		}
	} else {
		it.sent += len(d.Text)
	}
	s.mu.Unlock()
	switch d.Kind {
	case agent.DeltaText:
		s.piece(it, "agent_message_chunk", d)
	case agent.DeltaReasoning:
		s.piece(it, "agent_thought_chunk", d)
	case agent.DeltaToolOutput:
		s.liveOutput(it, d.ItemID)
	}
}

// lateDelta returns a function that sends a delta later. The closure is created here, so that a
// delta that is sent immediately is not copied to the heap.
func (s *session) lateDelta(d agent.ItemDelta) func() { return func() { s.delta(&d, true) } }

// piece sends a piece of a message. If the piece is dropped because the client does not read, the
// client gets it when the message is complete.
func (s *session) piece(it *item, kind string, d *agent.ItemDelta) {
	if s.chunk(kind, d.ItemID, d.Text) {
		return
	}
	s.mu.Lock()
	it.sent -= len(d.Text)
	it.missed = true
	s.mu.Unlock()
}

// chunk sends a piece of a message. If the queue is full, it returns false.
func (s *session) chunk(kind, itemID, text string) bool {
	key := jsonrpc.DeltaKey{ItemID: itemID, Kind: kind}
	return s.a.out.Merge(s.id, key, text) ||
		s.a.out.PutDelta(s.id, key, deltaPrefix(s.id, kind, itemID), text, false)
}

// deltaPrefix returns a chunk's frame up to the opening quote of its text. deltaEnd closes it.
func deltaPrefix(sessionID, kind, itemID string) []byte {
	b := make([]byte, 0, 320)
	b = append(b, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"`...)
	b = jsonrpc.AppendEscaped(b, sessionID)
	b = append(b, `","update":{"sessionUpdate":"`...)
	b = append(b, kind...)
	b = append(b, `","messageId":"`...)
	b = jsonrpc.AppendEscaped(b, itemID)
	return append(b, `","content":{"type":"text","text":"`...)
}

// text sends text in pieces of limited size.
func (s *session) text(kind, itemID, text string) {
	for len(text) > maxText {
		cut := maxText
		for cut > 0 && text[cut]&0xC0 == 0x80 {
			cut--
		}
		s.chunk(kind, itemID, text[:cut])
		text = text[cut:]
	}
	if text != "" {
		s.chunk(kind, itemID, text)
	}
}

// liveOutput shows the end of a tool's output. It replaces an update that is still in the queue.
func (s *session) liveOutput(it *item, itemID string) {
	frame := func() []byte {
		s.mu.Lock()
		tail := string(it.output[max(0, len(it.output)-outputTail):])
		s.mu.Unlock()
		return updateFrame(s.id, content.ToolUpdate(itemID,
			acp.WithUpdateStatus(acp.ToolCallStatusInProgress),
			acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(tail))})))
	}
	if key := s.id + "\x00" + itemID; !s.a.out.ReplaceState(key, frame) {
		s.a.out.PutState(key, frame())
	}
}

// started opens an item. The open items of a loaded session arrive with their text so far.
func (s *session) started(e *wire.ItemEvent) {
	it := &item{kind: e.Item.Type, nested: e.Item.ParentItemID != "", tool: e.Item}
	s.mu.Lock()
	s.items[e.Item.ItemID] = it
	s.mu.Unlock()
	switch e.Item.Type {
	case "assistantMessage", "reasoning":
		s.rest(it, &e.Item)
	case "toolCall":
		s.update(acp.SessionUpdate{ToolCall: content.ToolCall(&e.Item)})
	case "plan":
		s.plan(&e.Item)
	}
}

func (s *session) itemUpdated(e *wire.ItemEvent) {
	s.mu.Lock()
	if it := s.items[e.Item.ItemID]; it != nil {
		it.tool = e.Item
	}
	s.mu.Unlock()
	switch e.Item.Type {
	case "toolCall":
		s.update(acp.SessionUpdate{ToolCallUpdate: content.ChangedCall(&e.Item)})
		if e.Item.Status == "awaitingReview" && e.Item.ProposalID != "" {
			s.askReview(e.Item.ProposalID)
		}
	case "plan":
		s.plan(&e.Item)
	}
}

// completed closes an item. If the item was not opened before, completed sends the whole item.
func (s *session) completed(e *wire.ItemEvent) {
	s.mu.Lock()
	it := s.items[e.Item.ItemID]
	delete(s.items, e.Item.ItemID)
	s.mu.Unlock()
	seen := it != nil
	if !seen {
		it = &item{kind: e.Item.Type, nested: e.Item.ParentItemID != ""}
	}
	switch e.Item.Type {
	case "assistantMessage", "reasoning":
		s.rest(it, &e.Item)
	case "userMessage":
		if e.Replay && !it.nested {
			s.replayUser(&e.Item)
		}
	case "toolCall":
		if !seen {
			s.update(acp.SessionUpdate{ToolCall: content.ToolCall(&e.Item)})
		}
		s.update(acp.SessionUpdate{ToolCallUpdate: content.EndedCall(&e.Item, it.shown)})
	case "plan":
		s.plan(&e.Item)
	case "notice":
		if e.Item.Text != nil && !it.nested {
			s.note(e.Item.Level, *e.Item.Text)
		}
	}
}

// rest sends the part of a message that the client has not received. Retracted text is not sent.
func (s *session) rest(it *item, w *wire.Item) {
	if it.nested || w.Text == nil || w.Status == "retracted" && it.sent == 0 {
		return
	}
	kind := "agent_message_chunk"
	if w.Type == "reasoning" {
		kind = "agent_thought_chunk"
	}
	s.mu.Lock()
	from := it.sent
	it.sent = max(it.sent, len(*w.Text))
	s.mu.Unlock()
	if from < len(*w.Text) {
		s.text(kind, w.ItemID, (*w.Text)[from:])
	}
}

func (s *session) replayUser(w *wire.Item) {
	if w.Text != nil {
		s.text("user_message_chunk", w.ItemID, *w.Text)
	}
	for _, b := range w.Content {
		if b.Type == "image" && len(b.Data) > 0 && len(b.Data) < maxText {
			u := acp.UpdateUserMessage(acp.ImageBlock(base64.StdEncoding.EncodeToString(b.Data),
				b.MimeType))
			u.UserMessageChunk.MessageId = &w.ItemID
			s.update(u)
		}
	}
}

// note sends the user text that is not part of the model's reply.
func (s *session) note(level, text string) {
	switch level {
	case "warning", "error":
		s.update(acp.UpdateAgentMessageText("\n[" + level + "] " + text + "\n"))
	default:
		s.update(acp.UpdateAgentThoughtText(text + "\n"))
	}
}

func (s *session) retried(e *wire.RetryScheduled) {
	s.note("", fmt.Sprintf("The model call failed (%s). Retry %d of %d starts in %d ms.",
		e.Error.Message, e.Attempt, e.MaxRetries, e.DelayMs))
}

func (s *session) plan(w *wire.Item) {
	entries := make([]acp.PlanEntry, 0, len(w.Entries))
	for _, e := range w.Entries {
		status := acp.PlanEntryStatus(e.Status)
		if e.Status == "inProgress" {
			status = acp.PlanEntryStatusInProgress
		}
		entries = append(entries, acp.PlanEntry{Content: e.Content,
			Priority: acp.PlanEntryPriorityMedium, Status: status})
	}
	now := string(encode(entries))
	s.mu.Lock()
	same := now == s.planned
	s.planned = now
	s.mu.Unlock()
	if !same { // at the end of the turn, the item repeats the plan
		s.update(acp.UpdatePlan(entries...))
	}
}

func (s *session) turnCompleted() {
	s.mu.Lock()
	clear(s.items)
	s.mu.Unlock()
}

// usage contains the information about a session's usage that the client receives.
type usage struct {
	used, size int
	cost       float64
}

func (u usage) update() *acp.SessionUsageUpdate {
	out := &acp.SessionUsageUpdate{Used: u.used, Size: u.size}
	if u.cost > 0 {
		out.Cost = &acp.Cost{Amount: u.cost, Currency: "USD"}
	}
	return out
}

// sessionUpdated sends the parts of a session's state that the client does not have yet.
func (s *session) sessionUpdated(e *wire.SessionUpdated) {
	now := usage{used: e.ContextTokens, size: e.ContextWindow}
	if e.Usage != nil {
		now.cost = e.Usage.Cost
	}
	s.mu.Lock()
	used := now.size > 0 && now != s.usage
	if used {
		s.usage = now
	}
	renamed := e.Title != "" && e.Title != s.title
	if renamed {
		s.title = e.Title
	}
	s.mu.Unlock()
	if used {
		s.update(acp.SessionUpdate{UsageUpdate: now.update()})
	}
	if renamed {
		s.update(acp.SessionUpdate{
			SessionInfoUpdate: &acp.SessionSessionInfoUpdate{Title: &e.Title},
		})
	}
	if len(e.Config) > 0 {
		s.configured(e.Config)
		s.tellOptions()
	}
}
