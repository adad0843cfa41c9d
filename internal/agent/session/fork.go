package session

import (
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Fork creates a new session from another session's history, up to and including the message that
// the item atItem shows. If atItem is "", it copies the complete history. If before is set, that
// message is excluded, so that the user can edit a prompt and send it again. The results of a call
// are kept with the call. Items keep their IDs and get new numbers.
func (l *Library) Fork(id, atItem string, before bool) (*Session, error) {
	in, err := l.borrow(id)
	if err != nil {
		return nil, fmt.Errorf("forking: %w", err)
	}
	items, err := in.Session.Items(0)
	if err != nil {
		return nil, fmt.Errorf("forking: %w", err)
	}
	places := placesOf(items, in.Messages)
	cut := len(in.Messages)
	if atItem != "" {
		at := -1
		for i := range items {
			if items[i].Item.ID == atItem {
				at = i
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("forking session %s: atItemId %q: %w", id, atItem,
				ErrUnknownItem)
		}
		cut = cutAt(in.Messages, places[at], before)
	}
	meta := Meta{Cwd: in.Entry.Cwd, Title: in.Entry.Title, ForkOf: id}
	return l.write(meta, content{
		config: in.Config, messages: in.Messages[:cut], items: keep(items, places, cut),
		commits: in.Commits, pins: in.Pins,
	})
}

// borrow reads a session in order to copy it, without opening it. A concurrent Load can therefore
// open the session and keep it open.
func (l *Library) borrow(id string) (*Loaded, error) {
	if s := l.opened(id); s != nil {
		return s.reload()
	}
	return l.stored(id)
}

// placesOf returns for each item the index of the message that it shows. An item that shows no
// message gets the index of the previous item, or -1 at the start.
func placesOf(items []Item, ms []*message.Message) []int {
	index := make(map[string]int, len(ms))
	for i, m := range ms {
		index[m.ID] = i
	}
	places, last := make([]int, len(items)), -1
	for i, it := range items {
		if at, ok := index[it.Item.MessageID]; ok && it.Item.MessageID != "" {
			last = at
		}
		places[i] = last
	}
	return places
}

// cutAt returns the number of messages in a history that ends with message i or, if before is set,
// just before message i. It never separates a reply from its results.
func cutAt(ms []*message.Message, i int, before bool) int {
	if before {
		for i > 0 && ms[i].Role == message.RoleTool {
			i--
		}
		return max(i, 0)
	}
	for i++; i < len(ms) && ms[i].Role == message.RoleTool; i++ {
	}
	return i
}

func keep(items []Item, places []int, cut int) []Item {
	var kept []Item
	for i, it := range items {
		if places[i] < cut {
			kept = append(kept, it)
		}
	}
	return kept
}

// content is the complete content of a session that is written with one call of write.
type content struct {
	config   []byte
	messages []*message.Message
	items    []Item
	commits  []*agent.Commit
	pins     []agent.PinChange
}

// write creates a session with this content. Items are renumbered from 1.
func (l *Library) write(meta Meta, c content) (*Session, error) {
	s, err := l.Create(meta)
	if err != nil {
		return nil, err
	}
	records := make([]agent.Record, 0, len(c.messages)+len(c.items)+2)
	if len(c.config) > 0 {
		records = append(records, agent.Record{Type: RecordConfig, Data: c.config,
			Time: meta.CreatedAt})
	}
	known := all{}
	for _, m := range c.messages {
		known.add(m)
		records = append(records, agent.Record{Type: agent.RecordMessage, Message: m, Time: m.Time})
	}
	for _, commit := range c.commits {
		if known.byID(commit.Through) != nil {
			records = append(records, agent.Record{Type: agent.RecordCompaction, Commit: commit,
				Time: l.now()})
		}
	}
	for _, change := range c.pins {
		records = append(records, agent.Record{Type: agent.RecordPin, Pin: &change, Time: l.now()})
	}
	for _, it := range c.items {
		it.Seq = s.NextSeq()
		d, _ := storeItem(it, known)
		r, err := newRecord(RecordItem, it.Item.CreatedAt, d)
		if err != nil {
			continue // skip the item, which is only for display
		}
		records = append(records, r)
	}
	if len(records) > 0 {
		records[len(records)-1].Sync = true
	}
	if err := s.Append(records...); err != nil {
		return nil, fmt.Errorf("%w (%v)", err, l.Delete(s.id))
	}
	return s, nil
}

// all finds any message in a history by its ID.
type all map[string]*message.Message

func (a all) add(m *message.Message) {
	a[m.ID] = m
	if m.Role == message.RoleTool {
		a["\x00"+m.CallID] = m
	}
}

func (a all) byID(id string) *message.Message       { return a[id] }
func (a all) byCall(callID string) *message.Message { return a["\x00"+callID] }
