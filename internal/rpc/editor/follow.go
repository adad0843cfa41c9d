package editor

import (
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// follower makes an editor show the locations that tools use. It is active if the editor claims
// agent/editor/reveal and the session's setting follow is on. A slow editor is shown only the
// latest location.
type follower struct {
	s *Features

	mu    sync.Mutex
	item  string // the last shown item and location
	last  wire.Location
	next  *followed // the location to show next; nil if there is none
	shows bool      // whether the goroutine that sends requests to the editor is running
}

type followed struct {
	sessionID string
	params    wire.EditorRevealParams
}

// watch is called with every event when it is delivered. It never blocks.
func (f *follower) watch(sessionID string, e agent.Event) {
	it := itemOf(e)
	if it == nil || it.Call == nil || len(it.Call.Locations) == 0 ||
		it.ParentID != "" { // sub-agents run concurrently, so their locations are not shown
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

// itemOf returns the item of an event, or nil.
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

// show asks the editor to show one location after another until no location is waiting.
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
