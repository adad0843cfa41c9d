package session

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Items returns the completed items of the history with numbers greater than the given one, in the
// order of their numbers. It reads them from the log, because a loaded session does not keep them
// in memory.
func (s *Session) Items(since uint64) ([]Item, error) {
	refs, pending, in := s.itemRefs(since)
	f, err := os.Open(s.lib.logPath(s.id))
	if err != nil {
		return nil, fmt.Errorf("reading the items of session %s: %w", s.id, err)
	}
	defer f.Close()
	in.file = f
	items := make([]Item, 0, len(refs)+len(pending))
	for _, r := range refs {
		it, ok, err := in.item(r)
		if err != nil {
			return nil, fmt.Errorf("reading the items of session %s: %w", s.id, err)
		}
		if ok {
			items = append(items, it)
		}
	}
	for _, d := range pending {
		items = append(items, d.item(in))
	}
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return items, nil
}

// itemRefs returns the positions of the requested items, and the items that are not stored yet.
func (s *Session) itemRefs(since uint64) (refs []itemRef, pending []itemData, in *itemReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in = &itemReader{nodes: s.log.nodes[:len(s.log.nodes):len(s.log.nodes)],
		extra: slices.Clone(s.recent)}
	refs = slices.DeleteFunc(s.log.visible(), func(r itemRef) bool { return r.seq <= since })
	for _, r := range s.repairs {
		if r.Message != nil {
			in.extra = append(in.extra, r.Message)
		}
		var d itemData
		if r.Type == RecordItem && decode(r.Data, &d) == nil && d.Seq > since {
			pending = append(pending, d)
		}
	}
	for _, it := range s.waiting() {
		if it.Seq > since {
			d, _ := storeItem(it, in.extra)
			pending = append(pending, d)
		}
	}
	return refs, pending, in
}

// itemReader reads items, and the messages that they show, from a log. It keeps the last message,
// because adjacent items often show the same one.
type itemReader struct {
	file  io.ReaderAt
	nodes []node
	index map[string]int32
	extra recent // messages that are in memory
	buf   []byte
	last  *message.Message
}

// item reads an item. ok is false if the record cannot be decoded.
func (r *itemReader) item(ref itemRef) (it Item, ok bool, err error) {
	raw, err := r.raw(ref.off, ref.n)
	if err != nil {
		return Item{}, false, err
	}
	var rec agent.Record
	var d itemData
	if decode(bytes.TrimSpace(raw), &rec) != nil || decode(rec.Data, &d) != nil {
		return Item{}, false, nil
	}
	return d.item(r), true, nil
}

// byID reads a message. It returns nil if the message is not stored or can no longer be read.
func (r *itemReader) byID(id string) *message.Message {
	if r.last != nil && r.last.ID == id {
		return r.last
	}
	if r.index == nil {
		r.index = make(map[string]int32, len(r.nodes))
		for i := range r.nodes {
			r.index[r.nodes[i].id] = int32(i)
		}
	}
	i, ok := r.index[id]
	if !ok {
		return r.extra.byID(id)
	}
	rec, err := r.record(r.nodes[i].off, r.nodes[i].n)
	if err != nil || rec.Message == nil {
		return nil
	}
	r.last = rec.Message
	return r.last
}

func (r *itemReader) byCall(callID string) *message.Message { return r.extra.byCall(callID) }

// raw returns the bytes of a record. They are valid until the next call.
func (r *itemReader) raw(off int64, n int32) ([]byte, error) {
	r.buf = slices.Grow(r.buf[:0], int(n))[:n]
	_, err := r.file.ReadAt(r.buf, off)
	return r.buf, err
}

func (r *itemReader) record(off int64, n int32) (*agent.Record, error) {
	raw, err := r.raw(off, n)
	if err != nil {
		return nil, err
	}
	var rec agent.Record
	return &rec, decode(bytes.TrimSpace(raw), &rec)
}
