package agent

import (
	"slices"
	"strings"
	"sync"
)

// emitter hands a session's events to its sink, one at a time and in order. It knows
// every open item and its text so far, as the sink knows it. It may be called under
// the session's lock; it never blocks and never calls back into the session.
type emitter struct {
	id   string
	sink Sink

	mu      sync.Mutex
	held    int
	pending []emission
	open    map[string]*openItem
	order   []string // ids of open items, oldest first
}

// emission is an event, or something to do once the events before it are out.
type emission struct {
	event Event
	after func()
}

type openItem struct {
	turnID string
	item   Item
	text   strings.Builder
}

// OpenItem is an item that has started and not completed, with its text so far.
type OpenItem struct {
	TurnID string
	Item   Item
}

func newEmitter(id string, sink Sink) *emitter {
	return &emitter{id: id, sink: sink, open: map[string]*openItem{}}
}

func (e *emitter) emit(ev Event)  { e.put(emission{event: ev}) }
func (e *emitter) after(f func()) { e.put(emission{after: f}) }

func (e *emitter) put(em emission) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held > 0 {
		e.pending = append(e.pending, em)
		return
	}
	e.deliver(em)
}

// hold keeps events back until the returned function is called.
func (e *emitter) hold() (release func()) {
	e.mu.Lock()
	e.held++
	e.mu.Unlock()
	return sync.OnceFunc(e.release)
}

func (e *emitter) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held--; e.held > 0 {
		return
	}
	for _, em := range e.pending {
		e.deliver(em)
	}
	e.pending = nil
}

func (e *emitter) deliver(em emission) {
	if em.after != nil {
		em.after()
		return
	}
	e.track(em.event)
	if e.sink != nil {
		e.sink.Emit(e.id, em.event)
	}
}

func (e *emitter) track(ev Event) {
	switch ev := ev.(type) {
	case ItemStarted:
		o := &openItem{turnID: ev.TurnID, item: ev.Item}
		o.text.WriteString(ev.Item.Text)
		e.open[ev.Item.ID] = o
		e.order = append(e.order, ev.Item.ID)
	case ItemUpdated:
		if o := e.open[ev.Item.ID]; o != nil {
			o.item = ev.Item
		}
	case ItemDelta:
		if o := e.open[ev.ItemID]; o != nil && (ev.Kind == DeltaText || ev.Kind == DeltaReasoning) {
			o.text.WriteString(ev.Text)
		}
	case ItemCompleted:
		delete(e.open, ev.Item.ID)
		e.order = slices.DeleteFunc(e.order, func(id string) bool { return id == ev.Item.ID })
	}
}

// snapshot calls f with the open items while no event can pass.
func (e *emitter) snapshot(f func([]OpenItem)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	items := make([]OpenItem, 0, len(e.order))
	for _, id := range e.order {
		o := e.open[id]
		it := o.item
		if it.Type == ItemAssistant || it.Type == ItemReasoning {
			it.Text = o.text.String()
		}
		items = append(items, OpenItem{TurnID: o.turnID, Item: it})
	}
	f(items)
}
