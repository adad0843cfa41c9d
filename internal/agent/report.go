package agent

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// report is the part of a call that clients see: its item, the items of a sub-agent below it, and
// its result, which is reported once and last. report is safe for concurrent use.
type report struct {
	em     *emitter
	turnID string

	mu       sync.Mutex
	item     Item
	shown    bool
	children []Item          // open items of a sub-agent below this call
	clock    *toolcall.Clock // clock of the tool; nil until the tool runs
	result   *tool.Result    // set once
}

// tell emits an event that contains a copy of the item. The caller must hold mu or own the call.
func (r *report) tell(ev func(Item) Event) {
	if r.shown {
		r.em.emit(ev(copyItem(r.item)))
	}
}

// complete sets the result and completes the item. Only the first call of complete has an effect.
func (r *report) complete(res *tool.Result, status ItemStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result != nil {
		return
	}
	own := *res
	own.Text = message.ValidUTF8(own.Text)
	if len(own.Details) > 0 && !json.Valid(own.Details) {
		own.Details = nil
	}
	r.result = &own
	r.closeChildren()
	r.item.Status = status
	call := r.item.Call
	if r.clock != nil {
		call.Duration = r.clock.Elapsed()
	}
	call.Result, call.Content, call.IsError = own.Text, own.Content, own.IsError
	if own.Details != nil {
		call.Details = own.Details
	}
	if own.Locations != nil {
		call.Locations = own.Locations
	}
	r.tell(func(it Item) Event { return ItemCompleted{TurnID: r.turnID, Item: it} })
}

// outcome returns the result, or nil if there is none yet.
func (r *report) outcome() *tool.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result
}

// change edits the item and reports the change, unless the call has ended.
func (r *report) change(f func(*Item)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result != nil {
		return
	}
	f(&r.item)
	r.tell(func(it Item) Event { return ItemUpdated{TurnID: r.turnID, Item: it} })
}

func (r *report) output(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result == nil && r.shown {
		r.em.emit(
			ItemDelta{
				TurnID: r.turnID,
				ItemID: r.item.ID,
				Kind:   DeltaToolOutput,
				Text:   message.ValidUTF8(text),
			},
		)
	}
}

// nested passes on a sub-agent's item as an item of this turn, below this call. Items that arrive
// after the call's result are dropped, because no event of a turn may follow the turn's end.
func (r *report) nested(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result != nil || !r.shown {
		return
	}
	switch e := e.(type) {
	case ItemStarted:
		it := r.below(e.Item)
		r.children = append(r.children, it)
		r.em.emit(ItemStarted{TurnID: r.turnID, Item: it})
	case ItemUpdated:
		r.em.emit(ItemUpdated{TurnID: r.turnID, Item: r.below(e.Item)})
	case ItemCompleted:
		r.children = slices.DeleteFunc(r.children, func(it Item) bool { return it.ID == e.Item.ID })
		r.em.emit(ItemCompleted{TurnID: r.turnID, Item: r.below(e.Item)})
	case ItemDelta:
		e.TurnID = r.turnID
		r.childDelta(e)
		r.em.emit(e)
	}
}

// childDelta records the text of an open item below this call, for closeChildren.
func (r *report) childDelta(e ItemDelta) {
	for i := range r.children {
		if r.children[i].ID == e.ItemID && (e.Kind == DeltaText || e.Kind == DeltaReasoning) {
			r.children[i].Text += e.Text
		}
	}
}

// closeChildren completes the items that a sub-agent left open when its call ended. The caller must
// hold mu.
func (r *report) closeChildren() {
	for _, it := range r.children {
		it = copyItem(it)
		if it.Status = StatusAborted; it.Type == ItemToolCall {
			it.Status = StatusCancelled
		}
		r.em.emit(ItemCompleted{TurnID: r.turnID, Item: it})
	}
	r.children = nil
}

// below makes an item a child of this call, unless it is already a child of one of the sub-agent's
// calls.
func (r *report) below(it Item) Item {
	if it.ParentID == "" {
		it.ParentID = r.item.ID
	}
	it.MessageID = "" // the item shows a message from the sub-agent's history, not from this one
	return it
}
