package editor

import (
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// follower has an editor that claims agent/editor/reveal show the places that tools look at, where
// the session's settings ask for that. An editor that is slow is shown the newest place only.
type follower struct {
	s *Features

	mu    sync.Mutex
	item  string // what was looked at last, and where
	last  wire.Location
	next  *followed // nil: none waits
	shows bool      // the goroutine that asks runs
}

type followed struct {
	sessionID string
	params    wire.EditorRevealParams
}

// watch is told of every event when it is delivered. It never blocks.
func (f *follower) watch(sessionID string, e agent.Event) {
	it := itemOf(e)
	if it == nil || it.Call == nil || len(it.Call.Locations) == 0 ||
		it.ParentID != "" { // sub-agents work beside each other
		return
	}
	at := agentapi.ItemTo(*it).Locations[0]
	f.mu.Lock()
	defer f.mu.Unlock()
	if it.ID == f.item && at.URI == f.last.URI &&
		(at.Range == nil || f.last.Range != nil && *at.Range == *f.last.Range) {
		return
	}
	f.item, f.last, f.next = it.ID, at, &followed{sessionID, wire.EditorRevealParams(at)}
	if !f.shows {
		f.shows = true
		f.s.link.Go("following", f.show)
	}
}

// itemOf is the item that an event is about, or nil.
func itemOf(e agent.Event) *agent.Item {
	switch e := e.(type) {
	case agent.ItemStarted:
		return &e.Item
	case agent.ItemUpdated:
		return &e.Item
	case agent.ItemCompleted:
		return &e.Item
	}
	return nil
}

// show asks the editor for one place after the other, until none waits.
func (f *follower) show() {
	for p := f.take(); p != nil; p = f.take() {
		if l := f.s.api.Loaded(p.sessionID); l == nil || !l.Config().Follow {
			continue
		}
		if _, err := f.s.peer.reveal(f.s.link.Context(), p.params); err != nil {
			f.s.link.Logger.Debug("showing a place", "uri", p.params.URI, "error", err)
		}
	}
}

func (f *follower) take() *followed {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.next
	f.next, f.shows = nil, p != nil
	return p
}
