package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// roots records the workspace folders that a server's client has, and whether a goroutine is
// sending them. The server's lock guards roots.
type roots struct {
	client   *sdk.Client // nil: no server has connected yet
	reported []string
	telling  bool
	again    bool          // the folders changed in the meantime
	current  chan struct{} // closed when the folders are up to date; nil if they already are
}

// RootsChanged notifies each server that the workspace folders changed. It does not wait. Tool
// calls that begin afterwards wait until the server has the new folders.
func (h *Hub) RootsChanged() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return
	}
	for _, s := range h.servers {
		s.outdateRoots()
		h.wg.Go(s.tellRoots)
	}
}

// outdateRoots makes calls wait until tellRoots, which the caller must call afterwards, has sent
// the current roots.
func (s *server) outdateRoots() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roots.again = true; s.roots.current == nil {
		s.roots.current = make(chan struct{})
	}
}

// rootsTold waits until the server's client has the workspace folders as of the time of the call.
func (s *server) rootsTold(ctx context.Context) error {
	s.mu.Lock()
	current := s.roots.current
	s.mu.Unlock()
	if current == nil {
		return nil
	}
	select {
	case <-current:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connecting sets the client whose roots are kept up to date.
func (s *server) connecting(client *sdk.Client) {
	s.mu.Lock()
	s.roots.client, s.roots.reported = client, nil
	s.mu.Unlock()
	s.tellRoots()
}

// tellRoots updates the client's roots and notifies a connected server of a change. If another
// goroutine is already doing so, tellRoots leaves the work to it.
func (s *server) tellRoots() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roots.again = true; s.roots.telling {
		return
	}
	s.roots.telling = true
	for s.roots.again {
		s.roots.again = false
		client, reported := s.roots.client, s.roots.reported
		s.mu.Unlock()
		now := s.hub.opts.Roots()
		if client != nil {
			changeRoots(client, reported, now)
		}
		s.mu.Lock()
		if s.roots.client == client {
			s.roots.reported = now
		} else {
			s.roots.again = true
		}
	}
	s.roots.telling = false
	if s.roots.current != nil {
		close(s.roots.current)
		s.roots.current = nil
	}
}

// changeRoots replaces a client's list of roots with another list.
func changeRoots(client *sdk.Client, from, to []string) {
	var gone []string
	for _, uri := range from {
		if !slices.Contains(to, uri) {
			gone = append(gone, uri)
		}
	}
	for _, uri := range to {
		if !slices.Contains(from, uri) {
			//lint:ignore SA1019 roots are deprecated, but current servers ask for them
			client.AddRoots(&sdk.Root{URI: uri})
		}
	}
	if len(gone) > 0 {
		//lint:ignore SA1019 roots are deprecated, but current servers ask for them
		client.RemoveRoots(gone...)
	}
}
